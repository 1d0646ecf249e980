"""A conversation for protocols that keep the system prompt apart from it."""

from __future__ import annotations

from collections.abc import Sequence

from llm.types import Message


def parted(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """Return the system prompt, "" for none, and the rest of a conversation.

    The system messages at the beginning are joined by an empty line. Raises ValueError for one further on,
    which these protocols have no place for, and for text that is no Unicode.
    """
    rest = list(messages)
    system: list[str] = []
    for message in rest:
        message.content.encode()  # some SDKs would send half a surrogate pair as it is
    while rest and rest[0].role == "system":
        system.append(rest.pop(0).content)
    if any(message.role == "system" for message in rest):
        raise ValueError("a system message must stand at the beginning of the conversation")
    return "\n\n".join(system), rest
