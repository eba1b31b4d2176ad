from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from selfimprove.agents.base import AgentFailure, Workspace
from selfimprove.agents.command import CommandAgent
from selfimprove.contracts.agent import AgentReply
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError, Stopped
from selfimprove.testing import a_request
from selfimprove.testing.workspaces import make_workspace

SCORE = '{"score": 0.5}'


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path, {"src/a.py": "A = 1\n"}, timeout=20)


def ask(command: str, workspace: Workspace, role: str = "critic") -> AgentReply:
    own = replace(workspace, writable=role == "executor")
    return CommandAgent(command, Settings()).ask(a_request(role), own)


def failure(command: str, workspace: Workspace) -> AgentFailure:
    with pytest.raises(AgentFailure) as caught:
        ask(command, workspace)
    assert "critic_1" in caught.value.message
    return caught.value


def test_it_gets_the_request_on_stdin_and_in_its_environment(workspace: Workspace) -> None:
    command = (
        "cat > /tmp/request.json; "
        'printf \'{"summary": "%s", "request": \' '
        '"$SELFIMPROVE_ROLE/$SELFIMPROVE_ROUND/$SELFIMPROVE_AGENT_ID/$SELFIMPROVE_SESSION_ID"; '
        "cat /tmp/request.json; echo '}'"
    )
    output = ask(command, workspace, "executor").output
    assert output["summary"] == "executor/1/executor_1/test/round_1/executor_1"
    assert output["request"] == a_request("executor").document()
    assert list(output["request"]) == [
        *("role", "round", "agent_id", "session_id", "prompt", "context", "output_schema")
    ]


def test_it_inherits_the_caller_s_environment_less_our_settings(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_API_KEY", "k-1")
    monkeypatch.setenv("SELFIMPROVE_PATIENCE", "7")
    space = make_workspace(tmp_path / "second", {})
    command = 'echo "{\\"summary\\": \\"$MY_API_KEY,$SELFIMPROVE_PATIENCE\\"}"'
    assert ask(command, space, "executor").output["summary"] == "k-1,"


def test_an_executor_edits_its_tree_and_a_reader_cannot(workspace: Workspace) -> None:
    edit = f"echo 'A = 2' > src/a.py; echo '{SCORE[:-1]}, \"summary\": \"\"}}'"
    assert ask(edit, workspace, "executor").output["summary"] == ""
    assert (workspace.tree / "src/a.py").read_text() == "A = 2\n"
    if workspace.room.level == "bubblewrap":
        ask(f"echo 'A = 3' > src/a.py; echo '{SCORE}'", workspace)
        assert (workspace.tree / "src/a.py").read_text() == "A = 2\n"


def test_prose_before_the_answer_is_kept_as_the_transcript(workspace: Workspace) -> None:
    reply = ask(f"echo 'I read {{the code}} first'; echo '{SCORE}'", workspace)
    assert reply.output["score"] == 0.5
    assert reply.transcript == "I read {the code} first\n"
    assert reply.usage.duration_s > 0
    assert b"first" in workspace.log.read_bytes()


@pytest.mark.parametrize(
    ("command", "kind", "words"),
    [
        ("echo oops >&2; exit 3", "exit", "exited with 3: oops"),
        ("no-such-program-anywhere", "exit", "127"),
        ("true", "output", "printed no answer"),
        ("echo hello", "output", "no JSON object"),
        ("echo '{\"score\": 2}'", "output", "score"),
        ("echo '{\"score\": true}'", "output", "score"),
        ('echo \'{"score": "0.9"}\'', "output", "score"),
        ("echo '{\"score\": NaN}'", "output", "NaN"),
        ('echo \'{"score": 0.9, "score": 1}\'', "output", "twice"),
        ('echo \'{"score": 0.9, "mood": "good"}\'', "output", "mood"),
        ("echo '[0.9]'", "output", "no JSON object"),
        ('printf \'{"summary": "\\377", "score": 1}\'', "output", "UTF-8"),
    ],
)
def test_what_is_a_failure(command: str, kind: str, words: str, workspace: Workspace) -> None:
    failed = failure(command, workspace)
    assert failed.kind == kind
    assert words in failed.message
    assert "\n" not in failed.message


def test_100_mb_of_output_is_a_failure_and_its_end_an_answer(workspace: Workspace) -> None:
    flood = "head -c 100000000 /dev/zero | tr '\\0' 'x'"
    assert failure(flood, workspace).kind == "output"
    assert ask(f"{flood}; echo '{SCORE}'", workspace).output["score"] == 0.5


def test_devices_it_names_stay_devices(workspace: Workspace) -> None:
    command = f"head -c 1 /dev/zero > /dev/null && echo '{SCORE}'"
    assert ask(command, workspace).output["score"] == 0.5


def test_an_answer_over_8_mib_is_refused(workspace: Workspace) -> None:
    pad = "head -c 9000000 /dev/zero | tr '\\0' 'x'"
    failed = failure(f'printf \'{{"score": 1, "summary": "\'; {pad}; printf \'"}}\'', workspace)
    assert (failed.kind, "8388608" in failed.message or "8 MiB" in failed.message) == (
        "output",
        True,
    )


def test_it_need_not_read_its_request(workspace: Workspace) -> None:
    request = a_request("critic", history=["x" * 1_000_000])
    agent = CommandAgent(f"exec 0<&-; echo '{SCORE}'", Settings())
    assert agent.ask(request, replace(workspace, writable=False)).output["score"] == 0.5


def test_a_stop_ends_it_at_once(workspace: Workspace) -> None:
    threading.Timer(0.3, workspace.stop.set).start()
    started = time.monotonic()
    with pytest.raises(Stopped):
        ask("sleep 30", workspace)
    assert time.monotonic() - started < 5


def test_what_it_leaves_running_does_not_hold_it_up(workspace: Workspace) -> None:
    started = time.monotonic()
    assert ask(f"sleep 30 & echo '{SCORE}'", workspace).output == json.loads(SCORE) | {
        "issues": [],
        "summary": "",
    }
    assert time.monotonic() - started < 10


def test_a_command_without_words_is_refused() -> None:
    with pytest.raises(ConfigError, match="SHELL WORDS"):
        CommandAgent("", Settings())
