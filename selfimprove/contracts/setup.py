"""What the agents of set-up answer: a goal made clear, and a benchmark."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from selfimprove.contracts.base import Record

Topic = Literal["Objective", "Metric", "Target", "Scope"]
"""What a goal has to be clear about, in the order in which it is asked."""
LONGEST, MOST = 600, 20
"""Characters of a line, and lines of a list: more is cut off. A person reads them in a terminal."""


def _line(value: Any) -> Any:
    """On one line: what goes into goal.md must not open a section of its own there."""
    return " ".join(value.split())[:LONGEST] if isinstance(value, str) else value


def _some(value: Any) -> Any:
    return value[:MOST] if isinstance(value, list) else value


def _within(value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return min(100.0, max(0.0, float(value))) if number else value


Line = Annotated[str, BeforeValidator(_line)]
Lines = Annotated[list[Line], BeforeValidator(_some)]
Score = Annotated[float, BeforeValidator(_within)]


class Scored(Record):
    """How clear one dimension of a goal is."""

    score: Score
    """From 0 to 100; what lies beyond counts as the nearer end."""
    evidence: Line = ""
    """The words, or the file, that earn it."""


class Scores(Record):
    """All four dimensions."""

    objective: Scored
    metric: Scored
    target: Scored
    scope: Scored

    def by_topic(self) -> dict[Topic, Scored]:
        """The scores in the order in which topics are asked about."""
        return {
            "Objective": self.objective,
            "Metric": self.metric,
            "Target": self.target,
            "Scope": self.scope,
        }


class AskedNext(Record):
    """One question to the person."""

    dimension: Topic
    """The one with the lowest score."""
    text: Line = Field(min_length=1)
    choices: Lines = Field(default_factory=list)
    """Two or three answers that fit, the likeliest first."""


class SaidGoal(Record):
    """A goal as far as it is said, in the words of goal.md; what was not said stays empty."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {"objective", "metric", "direction", "target", "command", "format", "timeout"}
        | {"in_scope", "out_of_scope", "guards"}
    )

    objective: Line = ""
    metric: Line = ""
    """The name of the number."""
    direction: Literal["", "lower", "higher"] = ""
    target: Line = ""
    """`< 120 ms`, or `none`."""
    in_scope: Lines = Field(default_factory=list)
    out_of_scope: Lines = Field(default_factory=list)
    command: Line = ""
    """The benchmark's."""
    format: Line = ""
    timeout: Line = ""
    guards: Lines = Field(default_factory=list)
    """Commands that must stay green, and lines such as `accuracy >= 0.98`."""


class ClarifierReply(Record):
    """What a goal-clarifier answers in each round of its interview."""

    additions: ClassVar[frozenset[str]] = frozenset({"question", "assumed"})

    scores: Scores
    goal: SaidGoal
    question: AskedNext | None = None
    """None once it is clear enough."""
    assumed: Lines = Field(default_factory=list)
    """What is still open, and what was assumed for it; a line each."""

    @model_validator(mode="after")
    def _asks_about_the_weakest(self) -> Self:
        scores = {topic: each.score for topic, each in self.scores.by_topic().items()}
        if self.question and scores[self.question.dimension] > min(scores.values()):
            weakest = min(scores, key=lambda topic: scores[topic])
            raise ValueError(
                f"the question is about {self.question.dimension}: ask about the weakest "
                f"dimension, {weakest}"
            )
        return self


class BuilderReply(Record):
    """What a benchmark-builder answers once its files are written."""

    additions: ClassVar[frozenset[str]] = frozenset(
        {"metric", "direction", "sealed", "scores", "checked", "not_covered"}
    )

    summary: Line
    command: Line = Field(min_length=1)
    """Run from where the goal lies."""
    format: Line = "json"
    metric: Line = ""
    """The name under which the score is printed; the goal's own where it names one."""
    direction: Literal["", "lower", "higher"] = ""
    sealed: Lines = Field(default_factory=list)
    """Files that make the score besides those it wrote."""
    scores: Annotated[list[float], BeforeValidator(_some)] = Field(default_factory=list)
    """What it says it measured: a claim, never used."""
    checked: Line = ""
    """What it checked by breaking it."""
    not_covered: Line = ""
