"""Services: started before a command, ended behind it, and never its concern."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from room_machine import Machine, contained_only, script

from selfimprove.contracts.settings import Service
from selfimprove.process import Outcome
from selfimprove.room import around
from selfimprove.room.around import told
from selfimprove.room.job import Job

Serve = Callable[..., Outcome]
BOTH = pytest.mark.parametrize("mode", [pytest.param("auto", marks=contained_only), "off"])
STAYS = "echo $$ > up; trap 'echo ended >> said; exit' TERM; echo > ready; sleep 300 & wait"


@pytest.fixture
def serve(machine: Machine) -> Serve:
    """Run a shell command with services in a fresh room."""

    def run(command: str, *services: dict[str, str], mode: str = "auto", **job: Any) -> Outcome:
        made = tuple(Service(**one) for one in services)
        room = machine.room(mode, services=made)
        given = {"profile": "benchmark", "log": machine.base / "logs" / "run.log"} | job
        return room.run(Job(command, machine.tree, **given))

    return run


@BOTH
def test_a_service_is_ready_before_the_command_and_ended_behind_it(
    machine: Machine, serve: Serve, mode: str
) -> None:
    service = {"name": "s", "start": f"sleep 0.3; {STAYS}", "ready": "test -e ready"}
    service["reset"] = "echo fresh > state"
    outcome = serve("cat state; ls up", service, mode=mode)
    assert (outcome.exit_code, outcome.stdout, outcome.survivors) == (0, b"fresh\nup\n", 0)
    assert (machine.tree / "said").read_text() == "ended\n"
    assert outcome.duration_s < 0.25  # its own time, not the service's


@BOTH
def test_what_runs_by_itself_is_ended_by_its_stop(serve: Serve, mode: str) -> None:
    start = "(setsid sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1 &); sleep 0.1"
    service = {"name": "s", "start": start, "stop": "kill $(cat pid)"}
    outcome = serve("kill -0 $(cat pid) && echo there", service, mode=mode)
    assert (outcome.stdout, outcome.survivors) == (b"there\n", 0)


@contained_only
def test_a_service_that_will_not_end_is_not_the_commands(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(around, "DOWN_S", 0.1)
    stubborn = {"name": "s", "start": "trap '' TERM; echo > ready; while :; do sleep 1; done"}
    outcome = serve("echo 1", stubborn | {"ready": "test -e ready"})
    assert (outcome.stdout, outcome.survivors) == (b"1\n", 0)


@contained_only
def test_what_the_command_leaves_is_counted_beside_services(serve: Serve) -> None:
    service = {"name": "s", "start": STAYS, "ready": "test -e ready"}
    outcome = serve("setsid sleep 300 >/dev/null 2>&1 & echo 1", service)
    assert outcome.stdout == b"1\n"
    assert outcome.survivors > 0


@BOTH
def test_output_goes_to_a_log_of_its_own(machine: Machine, serve: Serve, mode: str) -> None:
    service = {"name": "s", "start": "echo hello; echo 9", "reset": "echo reset >&2"}
    outcome = serve("echo 1", service, mode=mode)
    assert outcome.stdout == b"1\n"
    assert (machine.base / "logs" / "run.services.log").read_text() == "hello\n9\nreset\n"


@BOTH
@pytest.mark.parametrize(
    ("service", "why"),
    [
        ({"start": "exit 7", "ready": "false"}, "ended with 7"),
        ({"start": "exit 3"}, "ended with 3"),
        ({"start": "exec sleep 300", "ready": "false"}, "was not ready within 1 s"),
        ({"start": "exec sleep 300", "reset": "exit 1"}, "the reset of the service 's' failed"),
    ],
)
def test_what_does_not_start_is_said(
    machine: Machine,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    service: dict[str, str],
    why: str,
) -> None:
    monkeypatch.setattr(around, "READY_S", 1)
    outcome = serve("touch ran", {"name": "s"} | service, mode=mode)
    assert why in outcome.unready
    assert outcome.exit_code == around.UNREADY
    assert why.encode() in outcome.stderr
    assert not (machine.tree / "ran").exists()


@BOTH
def test_time_is_the_commands_own(serve: Serve, mode: str) -> None:
    service = {"name": "s", "start": f"sleep 0.5; {STAYS}", "ready": "test -e ready"}
    assert not serve("echo 1", service, mode=mode, timeout=0.4).timed_out


def test_others_have_no_services(machine: Machine, serve: Serve) -> None:
    service = {"name": "s", "start": "touch started"}
    serve("true", service, profile="prepare")
    serve("true", service, profile="agent")
    serve("true", service, services=False)
    assert not (machine.tree / "started").exists()


@contained_only
def test_each_run_has_a_service_of_its_own(machine: Machine, serve: Serve) -> None:
    server = script(
        machine.tree / "server.py",
        "import socket\n"
        "with socket.create_server(('127.0.0.1', 7391)) as s:\n"
        "    for n in range(9):\n"
        "        s.accept()[0].sendall(b'%d' % n)\n",
    )
    ask = "import socket; print(socket.create_connection(('127.0.0.1', 7391)).recv(9).decode())"
    service = {"name": "s", "start": f"exec python3 {server.name}", "ready": f'python3 -c "{ask}"'}
    for _ in range(2):
        assert serve(f'python3 -c "{ask}"', service).stdout == b"1\n"


def test_who_writes_beside_the_script_is_somebody() -> None:
    whole = b"began 1.00\nready 3.50\nended 4.00\ndown 4.25\n"
    assert told(whole + b"0\n", True).beside_s == 2.75
    assert told(whole + b"2\n", True).left == 2
    assert told(b"0\n" + whole + b"0\n", True).left > 0
    assert told(whole + b"0\n0\n", True).left > 0
    assert told(b"began 1.00\nready 3.50\nended 1.00\nended 4.00\ndown 5.00\n0\n", True).left > 0
    assert told(b"began 1.00\nready 3.50\n", True).beside_s == 2.5  # it was ended
    assert told(b"began 1.00\n", True).unready
    assert told(b"3\n", False).left == 3
    assert told(b"3\n0\n", False).left == 1
    assert told(b"", False).left == 0


@pytest.mark.long
@contained_only
def test_two_are_ended_in_turn(machine: Machine, serve: Serve) -> None:
    first = {"name": "a", "start": "exec sleep 300", "stop": "echo a >> said"}
    second = {"name": "b", "start": "exec sleep 300", "stop": "echo b >> said"}
    began = time.monotonic()
    serve("true", first, second)
    assert (machine.tree / "said").read_text() == "b\na\n"
    assert time.monotonic() - began < 60  # not until they end by themselves
