"""The interview as an agent leads it; where it fails, the one by rules goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from selfimprove.agents.base import AgentFailure
from selfimprove.contracts.setup import ClarifierReply, Line, Topic
from selfimprove.errors import ConfigError
from selfimprove.goalfile import parse_goal
from selfimprove.setup.clarity import CLEAR, Clarity, clarity
from selfimprove.setup.draft import Draft, merged, missing, said, stood_in, written
from selfimprove.setup.interview import Ask, Interview, Question, Show, line_of

QUESTIONS = 12
"""At most."""
AMBIGUITY = 20.0
"""Per cent: no more of it, and a goal is clear enough."""
LONGEST = 2000
"""Characters of an answer that an agent is shown."""


class Clarifier(Protocol):
    """Whoever makes a goal clear by asking a person."""

    def run(self, draft: Draft) -> Draft:
        """The draft completed; raises UsageError where the answers come to no goal."""
        ...


Answer = dict[str, str]
Understand = Callable[[dict[str, Any], str, Callable[[dict[str, Any]], None]], ClarifierReply]
"""Asks the agent, from its context and a name for the question; the last argument checks what it
answers. Raises AgentFailure."""


@dataclass(frozen=True)
class AgentInterview:
    """Shows an agent what was said, and puts its one question to the person, until it is clear."""

    understand: Understand
    ask: Ask
    show: Show
    rules: Interview
    """Takes over where the agent fails, and asks what it left open."""
    found: Sequence[dict[str, str]] = ()

    def run(self, draft: Draft) -> Draft:
        """The draft completed, by the agent as far as it can."""
        answers: list[Answer] = []
        try:
            while True:
                reply = self._understood(draft, answers)
                draft = merged(draft, reply.goal)
                question = self._next(draft, reply, len(answers))
                if question is None:
                    break
                said_now = self.ask(question).strip() or question.default
                told = {"dimension": question.topic, "question": question.text}
                answers.append({**told, "answer": said_now[:LONGEST]})
        except AgentFailure as failure:
            self.show(f"the interview goes on by rules: {failure}")
            return self.rules.run(draft)
        for each in reply.assumed:
            self.show(f"assumed: {each}")
        return draft if self._whole(draft) else self.rules.run(draft)

    def _understood(self, draft: Draft, answers: list[Answer]) -> ClarifierReply:
        left = QUESTIONS - len(answers)
        context: dict[str, Any] = {"goal": said(draft), "found": list(self.found)}

        def readable(output: dict[str, Any]) -> None:
            reply = ClarifierReply.parse(output, "the answer")
            try:
                parse_goal(written(stood_in(merged(draft, reply.goal))), "goal")
            except ConfigError as error:
                raise AgentFailure("output", f"the goal cannot be read: {error}") from None

        context |= {"answers": list(answers), "left": left}
        return self.understand(context, f"question_{len(answers) + 1}", readable)

    def _next(self, draft: Draft, reply: ClarifierReply, asked: int) -> Question | None:
        """The question to put now; None where it is clear enough, or nothing more is asked."""
        rows = self._scored(draft, reply)
        for row in rows:
            self.show(line_of(row))
        ambiguity = 100 - sum(row.score for row in rows) / len(rows)
        self.show(f"ambiguity {ambiguity:.0f}% after {asked} of at most {QUESTIONS} questions")
        if ambiguity <= AMBIGUITY or reply.question is None or asked == QUESTIONS:
            return None
        best = next(iter(reply.question.choices), "")
        choices = tuple(reply.question.choices)
        return Question(reply.question.dimension, reply.question.text, best, choices)

    def _scored(self, draft: Draft, reply: ClarifierReply) -> list[Clarity]:
        """The agent's scores, none above what code can prove wrong."""
        told = reply.scores.by_topic()
        proven = {row.topic: row for row in clarity(draft, self.rules.files_in_scope)}
        return [
            self._held(topic, told[topic].score, told[topic].evidence, proven) for topic in told
        ]

    def _held(
        self, topic: Topic, score: float, evidence: Line, proven: dict[Topic, Clarity]
    ) -> Clarity:
        row = proven[topic]
        # an objective is judged by its words, in which code is no better than an agent
        if topic != "Objective" and row.score < min(CLEAR, score):
            return row
        return Clarity(topic, round(score), evidence or "no evidence is given")

    def _whole(self, draft: Draft) -> bool:
        rows = clarity(draft, self.rules.files_in_scope)
        unclear = [row for row in rows if row.topic != "Objective" and row.score < CLEAR]
        lacking = set(missing(draft)) - ({"--command"} if self.rules.built_later else set())
        return not lacking and not unclear
