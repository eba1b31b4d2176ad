"""`## Phases`, `## Milestones` and `## Experiment Ideas`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from selfimprove.contracts.goal import Milestone, Phase
from selfimprove.expressions import expression
from selfimprove.goalfile.reader import Part, Value
from selfimprove.ideas import normal_idea
from selfimprove.markdown import Piece, plain
from selfimprove.words import NOTHING

Status = Literal["active", "pending", "completed"]
_STATUS: Mapping[str, Status] = {
    "": "pending", "pending": "pending", "planned": "pending", "next": "pending", "todo": "pending",
    "active": "active", "current": "active", "in progress": "active", "now": "active",
    "completed": "completed", "complete": "completed", "done": "completed",
}  # fmt: skip
_TABLE = "a table with the columns Phase, Focus, Sub-Score Targets, Status"
_AND = re.compile(r"\s*(?:,|;|<br\s*/?>|&&|\band\b)\s*")


def read_phases(part: Part) -> list[Phase]:
    """The rows of the table, in order."""
    phases: list[Phase] = []
    active = 0
    for piece in part.pieces:
        if piece.kind in ("item", "code"):
            raise part.error(piece.line, "phases are not read from a list", f"write {_TABLE}")
        if piece.kind == "row" and (phase := _phase(part, piece)):
            if phase.name in [other.name for other in phases]:
                raise part.error(piece.line, f"a second phase {phase.name!r}", "rename one")
            if phase.status == "active":
                if active:
                    raise part.error(
                        piece.line, f"line {active} is the active phase already", "keep one active"
                    )
                active = piece.line
            phases.append(phase)
    return phases


def read_milestones(part: Part) -> list[Milestone]:
    """Each line or row: a name and an expression, or the expression alone."""
    milestones: list[Milestone] = []
    for piece in part.pieces:
        if piece.kind in ("heading",) or plain(piece.text).lower() in NOTHING:
            continue
        if piece.kind == "row":
            name, target = plain(piece.cells[0][1]), plain(piece.cells[-1][1])
        else:
            label, rest = piece.split_key()
            name, target = plain(label), plain(rest)
        if piece.kind == "text" and piece.depth == 0 and not expression(target):
            continue  # prose around the list
        meant = _expression(part, part.checked(Value(target, piece.line)))
        milestones.append(Milestone(name=name or meant, target=meant))
    return milestones


def read_goal_ideas(part: Part) -> list[str]:
    """One idea a line; lines that go on belong to the idea above."""
    ideas: list[str] = []
    for piece in part.pieces:
        lines = piece.text.split("\n") if piece.kind == "code" else [piece.text]
        if piece.kind == "text" and piece.depth and ideas:
            ideas[-1] = normal_idea(f"{ideas[-1]} {piece.text}")
        elif piece.kind == "item" and piece.depth > 1 and ideas:
            ideas[-1] = normal_idea(f"{ideas[-1]} - {piece.text}")
        elif piece.kind != "heading":
            ideas.extend(idea for line in lines if (idea := normal_idea(line)))
    return list(dict.fromkeys(idea for idea in ideas if idea.lower() not in NOTHING))


def _phase(part: Part, piece: Piece) -> Phase | None:
    cells = {
        re.sub(r"[^a-z]+", " ", plain(column).lower()).strip(): cell for column, cell in piece.cells
    }
    name = plain(cells.get("phase", cells.get("name", "")))
    if "phase" not in cells and "name" not in cells:
        raise part.error(piece.line, "the table has no column 'Phase'", f"write {_TABLE}")
    if not name:
        return None
    targets = next((cells[key] for key in cells if "target" in key), "")
    word = plain(cells.get("status", "")).lower()
    if word not in _STATUS:
        raise part.error(
            piece.line, f"no status {word!r} is known", "write active, pending or completed"
        )
    wanted = [text for text in _AND.split(plain(targets)) if text.lower() not in NOTHING]
    return Phase(
        name=name,
        focus=plain(cells.get("focus", "")),
        targets=[_expression(part, Value(text, piece.line)) for text in wanted],
        status=_STATUS[word],
    )


def _expression(part: Part, value: Value) -> str:
    meant = expression(value.text)
    if meant is None:
        raise part.error(
            value.line,
            f"cannot read the expression {value.text!r}",
            "write a name, a comparison and a plain number without unit, such as 'score <= 100'",
        )
    return meant
