"""What of the network a benchmark is let at: nothing, named sockets and ports, or the host's.

A named port is reached inside under its own address: connections to it are carried from the room's
network to the host's by the relay (`relay.py`). A named socket is shown in its place.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from selfimprove.errors import ConfigError, ToolError

HOSTS = Path("/etc/hosts")
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Port:
    """One port of one host."""

    host: str
    number: int
    address: str
    """Where it is found inside."""


@dataclass(frozen=True)
class Ways:
    """The sockets and ports that are named."""

    sockets: tuple[Path, ...] = ()
    ports: tuple[Port, ...] = ()

    def hosts(self) -> str:
        """What /etc/hosts says inside."""
        named = [f"{one.address} {one.host}" for one in self.ports if one.address != one.host]
        local = ["127.0.0.1 localhost", "::1 localhost"]
        return "".join(f"{line}\n" for line in dict.fromkeys([*local, *named]))

    def places(self) -> Iterator[Path]:
        """Where the sockets are shown; raises ToolError where one is not there."""
        for path in self.sockets:
            if not path.is_socket():
                raise ToolError(
                    f"sandbox.network: {path} is not a socket that is there",
                    "start what listens on it, or take it out of the list",
                )
            yield path.parent.resolve() / path.name


def ways_out(network: str | list[str]) -> Ways:
    """What a setting names; raises ConfigError for what is neither a socket nor a port."""
    if isinstance(network, str):
        return Ways()
    sockets = tuple(Path(word) for word in network if word.startswith("/"))
    named = [_split(word) for word in network if not word.startswith("/")]
    addresses = dict(_addresses(host for host, _ in named))
    return Ways(sockets, tuple(Port(host, port, addresses[host]) for host, port in named))


def _split(word: str) -> tuple[str, int]:
    host, _, number = word.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not number.isascii() or not number.isdigit() or not 0 < int(number) < 1 << 16:
        raise ConfigError(
            f"sandbox.network: {word!r} is neither a socket nor a port",
            "write /path/to/a/socket, host:port, or port for one of this machine",
        )
    if ":" in host and host != "::1":
        raise ConfigError(
            f"sandbox.network: {word!r} is an IPv6 address", "write the name of the host"
        )
    return host, int(number)


def _addresses(hosts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Under which address each host is found inside: its own, or a local one for a name."""
    for index, host in enumerate(dict.fromkeys(hosts)):
        if host in _LOCAL:
            yield host, "127.0.0.1" if host == "localhost" else host
        else:
            yield host, host if _is_address(host) else f"127.0.1.{index + 1}"


def _is_address(host: str) -> bool:
    try:
        return bool(ipaddress.IPv4Address(host))
    except ValueError:
        return False


def network_in_words(network: str | list[str]) -> str:
    """How a setting reads to a person."""
    return network if isinstance(network, str) else f"to {', '.join(network) or 'nothing'}"
