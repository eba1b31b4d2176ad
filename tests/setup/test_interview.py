from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
import pytest
from click.testing import CliRunner

from selfimprove.errors import ConfigError, UsageError
from selfimprove.goalfile import parse_goal
from selfimprove.setup.draft import Draft, draft_of, goal_of, goal_text
from selfimprove.setup.interview import Interview, Question
from selfimprove.setup.prompts import ask, show
from selfimprove.setup.proposal import Proposal

BENCH = Proposal(
    "benchmark", "python bench.py", "json", "bench.py", "p95_ms", "lower_is_better", rank=1
)
FOUND = [BENCH, Proposal("scope", "orders/"), Proposal("guard", "pytest -q")]


class Script:
    """Answers in turn; keeps what was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers: Iterator[str] = iter(answers)
        self.asked: list[Question] = []
        self.shown: list[str] = []

    def __call__(self, question: Question) -> str:
        self.asked.append(question)
        return next(self.answers)


def run(script: Script, found: Sequence[Proposal] = FOUND) -> Draft:
    draft = Interview(script, script.shown.append, found, len).run(Draft())
    assert next(script.answers, None) is None
    return draft


def test_everything_proposed_is_taken_by_empty_answers() -> None:
    script = Script("Reduce the p95 latency of orders without new dependencies", *[""] * 5)
    goal = goal_of(run(script))
    assert goal.benchmark.command == "python bench.py"
    assert (goal.metric.name, goal.metric.direction) == ("p95_ms", "lower_is_better")
    assert goal.metric.target_value is None
    assert goal.scope.in_scope == ["orders/"]
    assert [line.partition(" ")[0] for line in script.shown] == [
        "Objective",
        "Metric",
        "Target",
        "Scope",
    ]
    assert "Metric 100/100" in script.shown[1]


def test_unclear_answers_are_asked_again() -> None:
    script = Script(
        "", "better", "Cut the time that parse_order takes", "sh b.sh", "xml", "number",
        "speed_score", "sideways", "up", "< 5", "> 5", "`a b.py`, lib/", "none",
    )  # fmt: skip
    goal = goal_of(run(script, found=[]))
    assert goal.objective == "better\n\nCut the time that parse_order takes"
    assert goal.benchmark.format == "number"
    assert goal.metric.direction == "higher_is_better"
    assert goal.metric.target_value == 5
    assert goal.scope.in_scope == ["a b.py"]
    assert goal.guards == []
    assert any("sideways" in line for line in script.shown)
    assert any("contradicts" in line for line in script.shown)


def test_no_answer_at_all_is_given_up() -> None:
    with pytest.raises(UsageError, match="no answer to 'What should get better"):
        run(Script("", "", ""))


COMPLETE = Draft(
    objective="# Faster orders\n## Scope of it all",
    metric="p95_ms",
    direction="lower",
    target="< 120 ms",
    in_scope=("my orders/", "lib/*.py"),
    out_of_scope=("lib/old.py",),
    command="echo `date`; python bench.py",
    format="regex:(\\d+)",
    timeout="20m",
    sealed=("bench.py",),
    guards=("pytest -q", "accuracy >= 0.98", "memory_mb: lower, tolerance 5%"),
    ideas=("try a heap",),
)


def test_flags_alone_make_a_goal() -> None:
    goal = goal_of(COMPLETE)
    assert goal.objective == "Faster orders\nScope of it all"
    assert goal.scope.in_scope == ["my orders/", "lib/*.py"]
    assert goal.benchmark.command == "echo `date`; python bench.py"
    assert goal.benchmark.format == "regex:(\\d+)"
    assert goal.guards[0].command == "pytest -q"
    assert goal.constraints == ["accuracy >= 0.98"]
    assert goal.sub_scores["memory_mb"].tolerance == 0.05
    again = parse_goal(goal_text(COMPLETE))
    assert again.model_copy(update={"sha256": goal.sha256}) == goal
    assert goal_of(draft_of(goal)).model_copy(update={"sha256": goal.sha256}) == goal


def test_flags_that_are_missing_are_all_named() -> None:
    with pytest.raises(UsageError, match="--metric, --scope, --command, --direction"):
        goal_of(Draft(objective="Faster"))
    with pytest.raises(ConfigError, match="cannot read the target 'quick'"):
        goal_of(Draft("o", "m", "lower", "quick", ("a/",), command="b"))


def test_questions_in_a_terminal() -> None:
    @click.command()
    def command() -> None:
        show("hello")
        click.echo(ask(Question("Metric", "Which?", "it", ("found this",))))

    result = CliRunner().invoke(command, input="\n")
    assert result.stdout == "it\n"
    assert "hello\n  found this\nMetric: Which? [it]: " in result.stderr
