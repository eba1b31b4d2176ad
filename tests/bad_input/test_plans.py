"""Plans that do not fit: told to the planner, recorded with the reason, never carried out."""

from __future__ import annotations

import json

import pytest

from selfimprove.testing import Repository

from .conftest import Machine, branches, later, untouched

ROOT = ".selfimprove/default"


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("plan_without_hypothesis", "add 'hypothesis'"),
        later("plan_without_steps", "add 'steps'"),
        later("plan_without_outcome", "add 'expected_outcome'"),
        ("plan_with_an_extra_field", "did you mean 'hypothesis'?"),
        ("plan_with_a_wrong_type", "confidence: Input should be a valid number"),
        later("plan_with_no_target", "target_files"),
        later("plan_that_is_a_list", "not a JSON object"),
    ],
)
def test_a_plan_that_is_none(machine: Machine, target: Repository, agent: str, says: str) -> None:
    """Asked once more with the error, then left out; the round has no plan, the run goes on."""
    with untouched(target.path):
        answer = machine.run(target.path, agent=agent).worked()
    assert says in journal(target)
    assert "planner_a" in answer.err
    report = json.loads((target.path / ROOT / "state/merge_reports/round_1.json").read_text())
    assert report["status"] == "all_rejected"
    sound(machine, target)


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        later("plan_with_no_hypothesis", "hypothes"),
        ("plan_with_two_hypotheses", "hypothes"),
        ("plan_of_an_unknown_family", "wizardry"),
        ("plan_for_a_file_outside", "../outside.py"),
        later("plan_for_an_absolute_file", "/etc/passwd"),
        later("plan_for_the_benchmark", "bench.sh"),
    ],
)
def test_a_plan_that_is_rejected(
    machine: Machine, target: Repository, agent: str, says: str
) -> None:
    with untouched(target.path):
        answer = machine.run(target.path, agent=agent).worked()
    assert "planner_a rejected: " in answer.err
    told = answer.err.split("planner_a rejected: ")[1].splitlines()[0]
    assert says in told
    sound(machine, target)


@pytest.mark.long
def test_a_plan_mended_when_it_is_told(machine: Machine, target: Repository) -> None:
    answer = machine.run(target.path, agent="wrong_at_first").worked()
    assert "1 win" in answer.out


def test_rejected_rounds_open_the_circuit_breaker(machine: Machine, target: Repository) -> None:
    with untouched(target.path):
        answer = machine.run(target.path, "--max-iterations", 9, agent="plan_of_an_unknown_family")
    assert answer.code == 4
    assert "selfimprove: error:" not in answer.err
    assert "wizardry" in answer.err
    again = machine.run(target.path, "--max-iterations", 9)
    assert again.code == 4  # the same end, said again: the limit was not raised
    sound(machine, target)


def test_an_executor_that_touches_the_benchmark(machine: Machine, target: Repository) -> None:
    with untouched(target.path):
        machine.run(target.path, agent="touches_the_benchmark").worked()
    (result,) = (target.path / ROOT / "state/results/round_1").iterdir()
    document = json.loads(result.read_text())
    assert document["disqualification"]["technique"]
    assert "bench.sh" in document["disqualification"]["evidence"]
    assert branches(target.path) == ["refs/heads/main"]
    sound(machine, target)


@pytest.mark.long
def test_an_executor_that_changes_nothing(machine: Machine, target: Repository) -> None:
    answer = machine.run(target.path, agent="changes_nothing").worked()
    assert "changed nothing" in answer.err + answer.out
    sound(machine, target)


@pytest.mark.long
def test_a_candidate_that_breaks_the_benchmark(machine: Machine, target: Repository) -> None:
    with untouched(target.path):
        answer = machine.run(target.path, agent="breaks_the_benchmark").worked()
    assert "holds no score" in answer.err + answer.out
    assert branches(target.path) == ["refs/heads/main"]
    sound(machine, target)


def journal(target: Repository) -> str:
    lines = (target.path / ROOT / "state/journal/round_1.jsonl").read_text().splitlines()
    return "\n".join(
        f"{row['payload'].get('error', '')} {row['payload'].get('result', '')}"
        for row in map(json.loads, lines)
    )


def sound(machine: Machine, target: Repository) -> None:
    found = machine.call("validate", target.path)
    assert found.code == 0, found.out
