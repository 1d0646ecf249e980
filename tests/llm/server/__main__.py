"""Run the server as a process: python -m tests.llm.server."""

from tests.llm.server.steering import main

main()
