"""Named sockets and ports: these and nothing else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from room_machine import Machine, contained_only

from selfimprove.errors import ConfigError, ToolError
from selfimprove.room.job import Job
from selfimprove.room.network import Port, network_in_words, ways_out

ASK = """
import socket, sys
kind, place = sys.argv[1], sys.argv[2]
with socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET) as s:
    host, _, port = place.rpartition(":")
    s.connect(place if kind == "unix" else (host, int(port)))
    s.sendall(b"x" * 300_000)
    s.shutdown(socket.SHUT_WR)
    got = b""
    while data := s.recv(65536):
        got += data
    print(len(got), got[-4:].decode())
"""


@contextmanager
def echo(server: socket.socket) -> Iterator[None]:
    """Sends back what it is sent, and a word."""

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(65536):
                connection.sendall(data)
            connection.sendall(b"done")

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    with server:
        thread.start()
        yield
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.fixture
def port() -> Iterator[int]:
    server = socket.create_server(("127.0.0.1", 0))
    with echo(server):
        yield server.getsockname()[1]


def ask(machine: Machine, network: list[str], *words: str, profile: str = "benchmark") -> bytes:
    (machine.tree / "ask.py").write_text(ASK)
    room = machine.room(sandbox={"network": network})
    job = Job(("python3", "ask.py", *words), machine.tree, profile)  # type: ignore[arg-type]
    outcome = room.run(job)
    return outcome.stdout if outcome.exit_code == 0 else b"refused"


@contained_only
def test_a_named_port_is_reached_and_no_other(machine: Machine, port: int) -> None:
    place = f"127.0.0.1:{port}"
    assert ask(machine, [place], "tcp", place) == b"300004 done\n"
    assert ask(machine, [str(port)], "tcp", place) == b"300004 done\n"
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert ask(machine, [place], "tcp", f"127.0.0.1:{other.getsockname()[1]}") == b"refused"
    assert ask(machine, [place], "tcp", place, profile="prepare") == b"refused"


@contained_only
def test_a_named_host_is_found_by_its_name(machine: Machine, port: int) -> None:
    assert ask(machine, [f"localhost:{port}"], "tcp", f"localhost:{port}") == b"300004 done\n"
    name = socket.gethostname()
    assert ask(machine, [f"{name}:9", f"localhost:{port}"], "tcp", f"{name}:9") in (
        b"refused",
        b"",  # taken on by the relay, and dropped since nobody listens there
    )


@contained_only
def test_an_address_of_elsewhere_is_its_own_inside(machine: Machine) -> None:
    code = "import socket; socket.create_connection(('192.0.2.7', 80), 5).recv(1)"
    room = machine.room(sandbox={"network": ["192.0.2.7:80"]})
    outcome = room.run(Job(("python3", "-c", code), machine.tree, "benchmark", timeout=30))
    assert outcome.exit_code == 0 or b"reset" in outcome.stderr.lower(), outcome.stderr


@contained_only
def test_a_named_socket_is_shown_in_its_place(machine: Machine) -> None:
    place = machine.base / "s"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place))
    server.listen()
    with echo(server):
        assert ask(machine, [str(place)], "unix", str(place)) == b"300004 done\n"
        assert ask(machine, [], "unix", str(place)) == b"refused"
    place.unlink()
    with pytest.raises(ToolError, match="not a socket that is there"):
        ask(machine, [str(place)], "unix", str(place))


@contained_only
def test_nothing_is_left_of_a_relay(machine: Machine, port: int) -> None:
    place = f"127.0.0.1:{port}"
    ask(machine, [place], "tcp", place)
    before, descriptors = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        ask(machine, [place], "tcp", place)
    assert threading.active_count() <= before
    assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors


@pytest.mark.parametrize("word", ["db", "db:", "db:0", "db:70000", "db:http", "[fe80::1]:80", ""])
def test_what_is_neither_socket_nor_port_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match=r"sandbox\.network"):
        ways_out([word])


def test_where_each_host_is_found_inside() -> None:
    named = ["/run/db.sock", "5432", "db.example:5432", "cache.example:6379", "10.0.0.5:80"]
    ways = ways_out(named)
    assert ways.sockets == (Path("/run/db.sock"),)
    assert ways.ports == (
        Port("127.0.0.1", 5432, "127.0.0.1"),
        Port("db.example", 5432, "127.0.1.2"),
        Port("cache.example", 6379, "127.0.1.3"),
        Port("10.0.0.5", 80, "10.0.0.5"),
    )
    assert "127.0.1.2 db.example\n127.0.1.3 cache.example\n" in ways.hosts()
    assert ways_out("host").ports == ()
    assert network_in_words(["a:1", "/b"]) == "to a:1, /b"
