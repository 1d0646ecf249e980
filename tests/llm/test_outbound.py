"""Outbound calls go to public hosts over http or https, and to private ones only when allowed; no network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from llm.outbound import HostNotFound, check_base_url, resolved
from llm.providers import build
from llm.types import BadProvider, ChatRequest, Message, ProviderError
from tests.llm.server import serving


def leads_to(*addresses: str) -> Callable[[str, int], list[str]]:
    return lambda host, port: list(addresses)


def nowhere(host: str, port: int) -> list[str]:
    raise OSError("no such host")


PRIVATE = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1",
    "fd12:3456::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
    "64:ff9b:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "::127.0.0.1", "fec0::1", "not an address",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_a_host_that_leads_into_a_private_network_is_refused(address: str) -> None:
    with pytest.raises(BadProvider, match="not a public address"):
        check_base_url("https://models.example/v1", allow_private=False, resolve=leads_to(address))
    check_base_url("https://models.example/v1", allow_private=True, resolve=leads_to(address))


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(BadProvider, match=r"10\.0\.0\.7"):
        check_base_url("https://h.example", allow_private=False, resolve=leads_to("8.8.8.8", "10.0.0.7"))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_a_public_host_is_let_through(address: str) -> None:
    check_base_url("https://models.example/v1", allow_private=False, resolve=leads_to(address))


@pytest.mark.parametrize(
    "base_url",
    [
        "http://127.0.0.1:11434/v1", "http://[::1]:8000", "http://0x7f.1/", "http://2130706433/", "http://127.1/",
        "http://[::ffff:7f00:1]/", "http://localhost:8000/v1", "http://10.1.2.3", "http://[fe80::1]/",
    ],
)  # fmt: skip
def test_an_address_written_otherwise_is_still_private(base_url: str) -> None:
    with pytest.raises(BadProvider, match=r"public address|cannot be found"):
        check_base_url(base_url, allow_private=False)
    check_base_url(base_url, allow_private=True)


def test_a_host_that_is_not_found_is_refused_unless_private_ones_are_allowed() -> None:
    with pytest.raises(HostNotFound, match="cannot be found"):
        check_base_url("https://nowhere.example", allow_private=False, resolve=nowhere)
    with pytest.raises(HostNotFound, match="no address"):
        check_base_url("https://nowhere.example", allow_private=False, resolve=leads_to())
    check_base_url("https://nowhere.example", allow_private=True, resolve=nowhere)


@pytest.mark.parametrize(
    "base_url", ["ftp://8.8.8.8", "file:///etc/passwd", "gopher://8.8.8.8", "//8.8.8.8", "http://u:secret@8.8.8.8", ""]
)  # fmt: skip
@pytest.mark.parametrize("allow_private", [True, False])
def test_what_is_no_plain_address_is_refused_whatever_is_allowed(base_url: str, allow_private: bool) -> None:
    with pytest.raises(BadProvider) as refused:
        check_base_url(base_url, allow_private=allow_private, resolve=leads_to("8.8.8.8"))
    assert "secret" not in str(refused.value)


def test_the_port_of_the_scheme_is_looked_up() -> None:
    asked: list[tuple[str, int]] = []

    def note(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["8.8.8.8"]

    for base_url in ("https://a.example/v1", "http://b.example", "http://c.example:8080"):
        check_base_url(base_url, allow_private=False, resolve=note)
    assert asked == [("a.example", 443), ("b.example", 80), ("c.example", 8080)]


def test_an_address_resolves_to_itself() -> None:
    assert resolved("127.0.0.1", 80) == ["127.0.0.1"]


def test_a_name_that_leads_inside_only_when_it_is_connected_to_is_refused_there() -> None:
    async def ask(url: str, *, allow_private: bool) -> str:
        provider = build("openai_compatible", base_url=url, allow_private=allow_private)
        try:
            reply = await provider.complete(ChatRequest(model="m", messages=(Message("user", "x"),)))
            return reply.text
        finally:
            await provider.aclose()

    with serving() as server:
        url = f"http://localhost:{server.port}/v1"  # as after the rebinding of a name that was public before
        assert asyncio.run(ask(url, allow_private=True))
        with pytest.raises(ProviderError, match="not a public address") as caught:
            asyncio.run(ask(url, allow_private=False))
        assert caught.value.kind == "permanent" and server.settled().requests == 1
