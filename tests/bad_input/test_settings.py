"""Settings, flags, variables and the documents of a root that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from selfimprove.testing import Repository

from .conftest import Machine, later, tracked, untouched

ROOT = ".selfimprove/default"
IMPROVE = "improve/lower_the_score"


def settings(target: Repository, text: str) -> Path:
    place = target.path / ROOT / "config/settings.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"max_iteration": 3}', ["'max_iteration'", "'max_iterations'"]),
        ('{"sandbox": {"mod": "off"}}', ["'sandbox.mod'", "'sandbox.mode'"]),
        ('{"budget": {"run": {"dollars": 3}}}', ["'budget.run.dollars'", "did you mean"]),
        ('{"patience": "many"}', ["patience", "'many'"]),
        ('{"patience": -1}', ["patience", "-1"]),
        ('{"max_iterations": 3, "max_iterations": 4}', ["max_iterations", "twice"]),
        ("[]", ["no settings"]),
        ("{", ["not JSON", "mend or delete"]),
        ("", ["not JSON"]),
        ('{"agents": {"planer": "offline"}}', ["'planer'", "'planner'"]),
        ('{"provide": [{"path": "no/such"}]}', ["no/such", "does not exist"]),
        ('{"target_branch": "nowhere"}', ["target_branch", "'nowhere'", "git branch"]),
        ('{"gate_policy": "some"}', ["gate_policy"]),
        ('{"benchmark_format": "yaml"}', ["benchmark_format", "yaml"]),
    ],
)
def test_settings_that_do_not_fit(
    machine: Machine, target: Repository, text: str, says: list[str]
) -> None:
    place = settings(target, text)
    with untouched(target.path):
        answer = machine.run(target.path)
    answer.refused(3, *says)
    assert "not in it: .selfimprove" not in answer.err
    assert place.read_text() == text


def test_settings_that_are_no_text(machine: Machine, target: Repository) -> None:
    place = settings(target, "")
    place.write_bytes(b"\xff\xfe\x00")
    machine.run(target.path).refused(3, str(place), "mend or delete")
    assert place.read_bytes() == b"\xff\xfe\x00"


def test_a_folder_as_settings(machine: Machine, target: Repository) -> None:
    (target.path / ROOT / "config/settings.json").mkdir(parents=True)
    machine.run(target.path).refused(3, "settings.json", "mend or delete")


def test_a_variable_nobody_knows_is_a_warning(
    machine: Machine, target: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SELFIMPROVE_MAX_ITERATION", "3")
    told = machine.run(target.path, "--dry-run").worked().err
    assert "SELFIMPROVE_MAX_ITERATION" in told
    assert "SELFIMPROVE_MAX_ITERATIONS" in told


def test_a_variable_that_does_not_fit(
    machine: Machine, target: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SELFIMPROVE_PATIENCE", "soon")
    machine.run(target.path).refused(3, "SELFIMPROVE_PATIENCE", "'soon'")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("telepathy:strong", ["'telepathy:strong'", "offline", "command:SHELL WORDS"]),
        ("command:", ["names no program", "command:SHELL WORDS"]),
        ("scripted:no.such.module:f", ["scripted:no.such.module:f", "MODULE:FUNCTION"]),
    ],
)
def test_an_agent_nobody_knows(
    machine: Machine, target: Repository, spec: str, says: list[str]
) -> None:
    with untouched(target.path):
        machine.run(target.path, agent=spec).refused(3, *says)
    assert not list((target.path / ROOT / "logs").rglob("*.log"))  # nothing was run


def test_no_trust_without_a_terminal(machine: Machine, target: Repository) -> None:
    words = ["run", target.path, "--trees", machine.trees, "--max-iterations", 1]
    with untouched(target.path):
        machine.call(*words).refused(3, "nobody has confirmed", "--yes")
    assert not list((target.path / ROOT / "logs").rglob("*.log"))


@pytest.mark.long
def test_trust_is_asked_for_again_when_commands_change(
    machine: Machine, target: Repository
) -> None:
    machine.improved(target.path)
    again = ["run", target.path, "--trees", machine.trees, "--max-iterations", 2]
    again += ["--agents", 1, "--agent", "scripted:bad_input.agents:improve"]
    settings(target, '{"prepare_command": "true"}')
    machine.call(*again).refused(3, "changed since it was confirmed", "--yes")
    settings(target, "{}")
    machine.call(*again).worked()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--max-iterations", "-1"], "max-iterations"),
        (["--topic", "Über"], "--topic"),
        (["--planer", "offline"], "--planner"),
        (["--agents", "many"], "--agents"),
    ],
)
def test_flags_that_cannot_be_meant(machine: Machine, target: Repository, words, says) -> None:
    machine.call("run", target.path, *words).refused(2, says)
    assert not (target.path / ".selfimprove").exists()


# documents of the root


def test_a_damaged_journal_line_is_named_and_left(machine: Machine, target: Repository) -> None:
    machine.improved(target.path)
    journal = target.path / ROOT / "state/journal/round_1.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[1] = b'{"broken": tru\n'
    journal.write_bytes(b"".join(lines))
    before = documents(target)
    with untouched(target.path):
        again = ("--max-iterations", 2)
        machine.run(target.path, *again).refused(3, f"{journal}:2", "not JSON")
    assert documents(target) == before
    found = machine.call("validate", target.path)
    assert found.code == 1
    assert "round_1.jsonl:2" in found.out + found.err


@pytest.mark.long
def test_a_journal_line_of_another_shape(machine: Machine, target: Repository) -> None:
    machine.improved(target.path)
    journal = target.path / ROOT / "state/journal/round_1.jsonl"
    lines = journal.read_text().splitlines()
    first = json.loads(lines[0])
    del first["timestamp"]
    journal.write_text("\n".join([json.dumps(first | {"extra": 1}), *lines[1:]]) + "\n")
    before = documents(target)
    machine.run(target.path, "--max-iterations", 2).refused(3, f"{journal}:1", "timestamp")
    assert documents(target) == before


@pytest.mark.long
def test_a_torn_last_line_is_mended(machine: Machine, target: Repository) -> None:
    machine.improved(target.path)
    journal = target.path / ROOT / "state/journal/round_1.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"id": "msg_')
    machine.run(target.path, "--max-iterations", 2).worked()
    assert machine.call("validate", target.path).code == 0
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 25"


DOCUMENTS = [
    "state/agent-settings.json",
    "state/iteration_state.json",
    "state/run.json",
    "tracking/baseline.json",
    "tracking/raw_data.json",
    "tracking/events.json",
    "state/iteration_history/round_1.json",
    "state/merge_reports/round_1.json",
]


def test_damaged_documents_are_found_and_rebuilt(machine: Machine, target: Repository) -> None:
    machine.improved(target.path)
    for name in DOCUMENTS:
        place = target.path / ROOT / name
        whole = place.read_bytes()
        place.write_bytes(whole[: len(whole) // 2])
        found = machine.call("validate", target.path)
        assert found.code == 1
        assert name in found.out + found.err
        assert place.read_bytes() == whole[: len(whole) // 2]  # looking writes nothing
        machine.call("validate", target.path, "--rebuild")
        assert place.read_bytes() == whole


@pytest.mark.parametrize("name", [later("state/attempts.jsonl"), later("tracking/raw_data.json")])
def test_a_run_goes_on_beside_a_damaged_document(
    machine: Machine, target: Repository, name: str
) -> None:
    machine.improved(target.path)
    place = target.path / ROOT / name
    place.write_bytes(b"\0\0 not what it was")
    answer = machine.run(target.path, "--max-iterations", 2)
    if answer.code:
        answer.refused(3, str(place), "validate --rebuild")
        assert place.read_bytes() == b"\0\0 not what it was"
        machine.call("validate", target.path, "--rebuild")
        machine.run(target.path, "--max-iterations", 2).worked()
    assert machine.call("validate", target.path).code == 0
    assert tracked(target.path, IMPROVE, "src/conf.py") == "LIMIT = 25"


@pytest.mark.parametrize("name", [later("harness.md"), "idea.md"])
def test_a_text_of_the_user_that_is_no_text(
    machine: Machine, target: Repository, name: str
) -> None:
    machine.improved(target.path)
    place = target.path / ROOT / "config" / name
    place.write_bytes(b"# \xff\xfe\n- idea\n")
    machine.run(target.path, "--max-iterations", 2).refused(3, str(place), "UTF-8")
    assert place.read_bytes() == b"# \xff\xfe\n- idea\n"


def documents(target: Repository) -> dict[str, bytes]:
    root = target.path / ROOT
    kinds = {".json", ".jsonl", ".md"}
    return {str(p): p.read_bytes() for p in sorted(root.rglob("*")) if p.suffix in kinds}
