"""A short interview over Objective, Metric, Target and Scope; the asking is passed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from selfimprove.contracts.settings import FORMATS
from selfimprove.errors import UsageError
from selfimprove.markdown import code_spans
from selfimprove.setup.clarity import CLEAR, Clarity, clarity
from selfimprove.setup.detect import of_kind
from selfimprove.setup.draft import Draft
from selfimprove.setup.guess import direction_of
from selfimprove.setup.proposal import Proposal
from selfimprove.words import NOTHING, direction, in_words, quantity

TRIES = 3


@dataclass(frozen=True)
class Question:
    """One question with what is proposed as its answer."""

    topic: str
    text: str
    default: str = ""
    choices: tuple[str, ...] = ()
    """What was found, to show above the question; any other answer is fine."""


Ask = Callable[[Question], str]
Show = Callable[[str], None]


@dataclass(frozen=True)
class Interview:
    """Asks what a draft does not say yet, and what is not clear."""

    ask: Ask
    show: Show
    proposals: Sequence[Proposal] = ()
    files_in_scope: Callable[[Sequence[str]], int] | None = None
    built_later: bool = False
    """Where no benchmark is found somebody will build one: no command is asked for."""

    def run(self, draft: Draft) -> Draft:
        """The draft completed; shows each topic's clarity as it goes."""
        draft = self._benchmark(self._objective(draft))
        for step in (self._metric, self._target, self._scope, self._guards):
            draft = step(draft)
        for row in clarity(draft, self.files_in_scope):
            self.show(line_of(row))
        return draft

    def _clarity(self, draft: Draft, topic: str) -> Clarity:
        return next(row for row in clarity(draft, self.files_in_scope) if row.topic == topic)

    def _objective(self, draft: Draft) -> Draft:
        if not draft.objective:
            draft = replace(
                draft, objective=self._said(Question("Objective", "What should get better?"))
            )
        row = self._clarity(draft, "Objective")
        if row.score < CLEAR and row.question:
            self.show(line_of(row))
            more = self.ask(Question("Objective", row.question)).strip()
            if more.lower() not in NOTHING:
                draft = replace(draft, objective=f"{draft.objective.rstrip()}\n\n{more}")
        return draft

    def _benchmark(self, draft: Draft) -> Draft:
        """Command first: what it prints names the metric."""
        found = of_kind(list(self.proposals), "benchmark")
        if not (draft.command or found) and self.built_later:
            return draft
        if not draft.command:
            shown = tuple(f"{one.command}  ({one.why})" for one in found[:5])
            first = found[0].command if found else ""
            asked = Question("Metric", "Which command measures it?", first, shown)
            draft = replace(draft, command=self._said(asked))
        taken = next((one for one in found if one.command == draft.command), None)
        if taken:
            draft = replace(
                draft,
                format=draft.format or taken.format,
                direction=draft.direction or (taken.direction or ""),
            )
        if not draft.format:
            asked = Question("Metric", "In which format does it print the score?", "json", FORMATS)
            draft = replace(draft, format=self._said(asked, _is_format))
        return draft

    def _metric(self, draft: Draft) -> Draft:
        if not draft.metric:
            found = of_kind(list(self.proposals), "benchmark")
            guess = next((one.metric for one in found if one.command == draft.command), "")
            asked = Question("Metric", "What is the number called?", guess or "score")
            draft = replace(draft, metric=self._said(asked))
        implied = quantity(draft.target)
        if not draft.direction and not (implied and implied.direction):
            better = direction_of(draft.metric)
            asked = Question(
                "Metric",
                "Is lower or higher better?",
                in_words(better) if better else "",
                ("lower", "higher"),
            )
            draft = replace(
                draft, direction=self._said(asked, lambda text: direction(text) is not None)
            )
        return draft

    def _target(self, draft: Draft) -> Draft:
        for _ in range(TRIES):
            row = self._clarity(draft, "Target")
            if draft.target and row.score >= CLEAR:
                return draft
            if draft.target:
                self.show(line_of(row))
            text = row.question or "At which value would you be done?"
            answer = self.ask(Question("Target", text, "none")).strip() or "none"
            draft = replace(draft, target=answer)
        if self._clarity(draft, "Target").score < CLEAR:
            raise UsageError(
                f"the target {draft.target!r} was not understood", "write '< 120 ms' or 'none'"
            )
        return draft

    def _scope(self, draft: Draft) -> Draft:
        for _ in range(TRIES):
            row = self._clarity(draft, "Scope")
            if draft.in_scope and row.score >= CLEAR:
                return draft
            if draft.in_scope:
                self.show(line_of(row))
            found = of_kind(list(self.proposals), "scope")
            shown = tuple(f"{one.command}  ({one.why})" for one in found)
            default = found[0].command if found else ""
            if row.score == 50:  # all of it is open, which may be meant
                answer = self.ask(Question("Scope", row.question, "none"))
                return replace(draft, out_of_scope=tuple(_list(answer)))
            answer = self._said(Question("Scope", row.question, default, shown))
            draft = replace(draft, in_scope=tuple(_list(answer)))
        return draft

    def _guards(self, draft: Draft) -> Draft:
        if draft.guards:
            return draft
        found = of_kind(list(self.proposals), "guard")
        shown = tuple(f"{one.command}  ({one.why})" for one in found[:3])
        default = found[0].command if found else "none"
        answer = self.ask(
            Question("Scope", "Which command must stay green?", default, shown)
        ).strip()
        return draft if answer.lower() in NOTHING else replace(draft, guards=(answer,))

    def _said(self, question: Question, fits: Callable[[str], bool] = bool) -> str:
        """An answer that fits; the question's own default where nothing is typed."""
        for _ in range(TRIES):
            answer = self.ask(question).strip() or question.default
            if fits(answer):
                return answer
            choices = f"; {', '.join(question.choices)}" if question.choices else ""
            self.show(f"{question.topic}: {answer or 'nothing'!r} is not understood{choices}")
        raise UsageError(
            f"no answer to {question.text!r}", "run `selfimprove init` again, or use flags"
        )


def line_of(row: Clarity) -> str:
    """`Metric 75/100: no command measures it`."""
    return f"{row.topic} {row.score}/100: {row.reason}"


def _list(answer: str) -> Iterator[str]:
    """Paths as typed: in backquotes, or parted by commas."""
    for path in code_spans(answer) or answer.split(","):
        if path.strip().lower() not in NOTHING:
            yield path.strip()


def _is_format(text: str) -> bool:
    return text in FORMATS or text.startswith("regex:")
