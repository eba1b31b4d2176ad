"""Without namespaces, the kernel's own fence: a job keeps to what a room would show it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from room_machine import Machine, script

from selfimprove.process import Outcome
from selfimprove.room import isolation, landlock
from selfimprove.room.isolation import Mount, probe

CHECKOUT = "home'/'my proj/who'"
"""Below a machine's base, spelt so that it is not taken for the tree."""
Run = Callable[..., Outcome]
pytestmark = pytest.mark.skipif(not landlock.version(), reason="no Landlock in this kernel")


@pytest.fixture(autouse=True)
def no_namespaces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(isolation, "_binaries", list)
    isolation._probe.cache_clear()
    assert probe("auto").level == "landlock"
    yield
    isolation._probe.cache_clear()


def test_a_tree_and_private_folders_are_all_there_is_to_write(machine: Machine, run: Run) -> None:
    assert run('echo x > f && cat f > "$TMPDIR/g" && cat "$TMPDIR/g" > ~/h').exit_code == 0
    for place in (CHECKOUT, "home/f'", "cache/f'"):
        assert run(f"echo x >> '{machine.base}/{place}").exit_code != 0
    assert (machine.target / "who").read_text() == "checkout"
    assert run("touch new", read_only_tree=True).exit_code != 0


def test_what_is_not_shown_is_not_read(machine: Machine, run: Run) -> None:
    (machine.home / "secret").write_text("s")
    (machine.base / "cache" / "rival").write_text("r")
    for place in (CHECKOUT, "home/secret'", "cache/rival'"):
        assert run(f"cat '{machine.base}/{place}").exit_code != 0
        assert run(f"cat /proc/{os.getpid()}/root'{machine.base}/{place}").exit_code != 0
    assert run(f"ls '{machine.home}'").exit_code != 0


def test_tools_and_what_is_provided_are_read_less_what_is_masked(
    machine: Machine, run: Run
) -> None:
    script(machine.home / ".cargo" / "bin" / "cargo", "#!/bin/sh\necho cargo\n")
    (machine.home / ".cargo" / "credentials.toml").write_text("token")
    (machine.home / "data").mkdir()
    (machine.home / "data" / "d").write_text("given")
    machine.path(machine.home / ".cargo" / "bin")
    provide = [{"path": str(machine.home / "data")}]
    look = f"cargo; cat '{machine.home}/data/d'; cat '{machine.home}/.cargo/credentials.toml'"
    outcome = run(look, provide=provide)
    assert outcome.stdout == b"cargo\ngiven"
    assert run(f"touch '{machine.home}/data/x'", provide=provide).exit_code != 0


@pytest.mark.skipif(landlock.version() < landlock.NET_SINCE, reason="TCP is not its business yet")
def test_the_network_is_refused_unless_it_is_named(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = (
            f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'"
        )
        assert run(connect).exit_code != 0
        assert run(connect, sandbox={"network": [f"localhost:{port}"]}).exit_code == 0
        assert run(connect, sandbox={"network": ["localhost:1"]}).exit_code != 0
        assert run(connect, sandbox={"network": "host"}).exit_code == 0
        assert run(connect, profile="agent").exit_code == 0


@pytest.mark.skipif(landlock.version() < landlock.SIGNALS_SINCE, reason="older kernel")
def test_other_processes_are_not_signalled(run: Run) -> None:
    with subprocess.Popen(["sleep", "30"]) as other:
        assert run(f"kill {other.pid}").exit_code != 0
        assert run("sleep 30 & kill $!; wait $! ; test $? = 143").exit_code == 0
        assert other.poll() is None
        other.send_signal(signal.SIGKILL)


def test_a_path_less_what_is_masked_in_it(tmp_path: Path) -> None:
    for name in ("a/x", "a/b/y", "a/b/secret", "c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    mounts = [
        Mount(tmp_path, "read", tmp_path),
        Mount(tmp_path / "a/b/secret", "blank_file"),
        Mount(tmp_path / "w", "write", tmp_path / "c"),
    ]
    found = landlock.allowed(mounts, None)
    assert found.read == tuple(tmp_path / name for name in ("a/b/y", "a/x", "c"))
    assert found.write == (tmp_path / "c",)
