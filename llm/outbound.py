"""Which addresses may be called: http or https, a plain host, and no private network unless allowed."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from llm.types import BadProvider

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Carries an IPv4 address inside: NAT64 (its well-known and its local prefix) and IPv4-compatible addresses.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NOT_PUBLIC = tuple(ipaddress.ip_network(net) for net in ("64:ff9b:1::/48", "::/96", "fec0::/10"))


class HostNotFound(BadProvider):
    """A host does not resolve: wrong, or only not found just now."""


def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of a host, as the system resolves it."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return sorted({str(entry[4][0]) for entry in found})


def plain_base_url(base_url: str, *, name: str = "the base_url") -> str:
    """Return the base address without a slash at its end, or raise BadProvider, which calls it `name`.

    Only http and https are let through, with a host and without a user, password, query or fragment.
    """
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        raise BadProvider(f"{name} is not an address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BadProvider(f"{name} must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise BadProvider(f"{name} must not hold a user, a password, a query or a fragment")
    if not base_url.strip().isascii() or re.search(r"[\s\\]", base_url.strip()):
        raise BadProvider(f"{name} holds characters that an address cannot hold")
    return base_url.strip().rstrip("/")


def check_base_url(
    base_url: str, *, allow_private: bool, resolve: Callable[[str, int], Iterable[str]] = resolved
) -> None:
    """Raise BadProvider for an address that must not be called.

    Unless `allow_private`, every address that the host resolves to has to be public: loopback, private,
    link-local (such as the metadata services of clouds), shared, reserved and multicast ones are refused. A
    host that does not resolve raises HostNotFound, which a worker may pass over: a request to it fails by
    itself. It blocks while the name is looked up. A name may lead elsewhere later: what it leads to when a
    connection is made is checked there (llm.providers.sending).
    """
    plain_base_url(base_url)
    if not allow_private:
        checked_addresses(base_url, allow_private=False, resolve=resolve)


def checked_addresses(
    base_url: str,
    *,
    allow_private: bool,
    resolve: Callable[[str, int], Iterable[str]] = resolved,
    name: str = "the base_url",
) -> list[str]:
    """Return the addresses of a host, all of which may be called: whoever connects to one of them is guarded.

    Raises what check_base_url raises.
    """
    parts = urlsplit(plain_base_url(base_url, name=name))
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        addresses = list(resolve(host, port))
    except (OSError, UnicodeError):
        raise HostNotFound(f"the host {host} of {name} cannot be found") from None
    if not addresses:
        raise HostNotFound(f"the host {host} of {name} has no address")
    if not allow_private:
        refuse_private(host, addresses, name=name)
    return addresses


def refuse_private(host: str, addresses: Iterable[str], *, name: str = "the base_url") -> None:
    """Raise BadProvider if one of the addresses that a host leads to is not public."""
    for text in addresses:
        if not _public(text):
            raise BadProvider(
                f"the host {host} of {name} leads to {text}, which is not a public address; "
                "private addresses must be allowed first (FALSESTEP_ALLOW_PRIVATE_PROVIDERS=1)"
            )


def _public(text: str) -> bool:
    try:
        address: Address = ipaddress.ip_address(text.split("%", 1)[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if any(address in net for net in _NOT_PUBLIC):
            return False
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            address = inner
    return address.is_global and not address.is_multicast and not address.is_reserved
