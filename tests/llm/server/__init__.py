"""A real local server that speaks the protocols of models, fails as told, and counts what it was paid for.

In a test (any folder): `with serving(Scenario(latency=0.1)) as server:` and point the provider at
`server.url`; or the fixture `chat_server` (`from tests.llm.server import chat_server  # noqa: F401`).
As a process of its own: `python -m tests.llm.server [--port N] [--scenario JSON]` prints its port on the
first line and serves until it is terminated (`Server(port)` steers it). Both are steered over HTTP too:

    PUT  /control/scenario   a Scenario as JSON; counters go on
    POST /control/reset      counters and the consumed parts of the scenario begin anew
    GET  /control/state      the counters, see State

A request is paid for when the server has made its answer, whether or not the client still listens: as with a
real provider, a client killed in the middle is charged. Wait for `in_flight == 0` before counting.

`server.url` is the base of chat completions and of OpenAI's batches, `server.root` that of Anthropic's messages
and batches and of Google's generateContent; scenarios, conversation keys and counters are the same for all.
"""

from tests.llm.server.scenario import NO_ERROR, Act, Scenario, State, conversation_key, tokens
from tests.llm.server.steering import Server, chat_server, main, serving

__all__ = [
    "NO_ERROR",
    "Act",
    "Scenario",
    "Server",
    "State",
    "chat_server",
    "conversation_key",
    "main",
    "serving",
    "tokens",
]
