"""Brains for loopback models: what they say follows from what they are asked alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from selfimprove.testing.documents import ANSWERS, a_plan
from selfimprove.testing.models.said import Brain, Say, ToolCall, Turn

ANSWER = "answer"
Part = Callable[[Turn, str], Say]
"""From what is asked, and the id of who is asked, to what is said."""


def answering(answer: Mapping[str, Any]) -> Say:
    """Say an answer by the tool for it."""
    return Say(calls=(ToolCall(ANSWER, dict(answer)),))


def calling(name: str, **arguments: Any) -> Say:
    """Say that a tool is to be called."""
    return Say(f"I will {name}.", (ToolCall(name, arguments),))


def who(turn: Turn) -> str:
    """The id of the agent that is asked, as prompts give it."""
    found = re.search(r"^Round \d+; you are (\w+(?:-\w+)?)", turn.prompt, re.M)
    return found[1] if found else ""


def section(turn: Turn, heading: str) -> Any:
    """The JSON in the fence below a heading of the prompt; None where there is no such heading."""
    found = re.search(
        rf"^## {re.escape(heading)}.*?^(`{{3,}})\n(.*?)\n\1$", turn.prompt, re.M | re.S
    )
    return json.loads(found[2]) if found else None


def playing(**parts: Part | Mapping[str, Any]) -> Brain:
    """A brain for every role: an answer for each, or a function; who is not given just answers."""

    def brain(turn: Turn) -> Say:
        name = who(turn)
        role = re.sub(r"_(\d+|[a-z])$", "", name)
        part = parts.get(role.replace("-", "_"), ANSWERS.get(role))  # type: ignore[call-overload]
        if part is None:
            return Say(f"nobody has told me what a {role or 'nobody'} says")
        return part(turn, name) if callable(part) else answering(part)

    return brain


def lowering(turn: Turn, name: str) -> Say:
    """Plan, as planner a, b or c of a rehearsal, to lower the number of that name."""
    letter = name[-1]
    path = f"src/{letter}"
    if not turn.done:
        return calling("read", path=path)
    now = int((turn.done[0].result or "").split("\t")[-1])
    family = section(turn, "Families you may choose from")[0]
    change = f"set the number to {now - 3 + 'abc'.index(letter)}"
    return answering(a_plan(path, change, family=family))


def setting(turn: Turn, _name: str) -> Say:
    """Carry a number plan out, as an executor of a rehearsal."""
    step = section(turn, "The plan")["steps"][0]
    if not turn.done:
        return calling("write", path=step["file"], content=step["change"].rsplit(" ", 1)[1] + "\n")
    return answering({"summary": "the number is set"})


def clumsy(part: Part) -> Part:
    """The same, but for a first answer that lacks what it must have."""

    def say(turn: Turn, name: str) -> Say:
        said = part(turn, name)
        if len(said.calls) != 1 or said.calls[0].name != ANSWER:
            return said
        complained = "Answer again" in turn.prompt or any(call.name == ANSWER for call in turn.done)
        whole = said.calls[0].arguments
        return (
            said if complained else answering({k: v for k, v in whole.items() if k != "hypothesis"})
        )

    return say
