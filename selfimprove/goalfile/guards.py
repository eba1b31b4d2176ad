"""`## Guards`: commands that must stay green, and lines such as `accuracy >= 0.98`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from selfimprove.contracts.goal import GuardCommand, Metric, SubScoreRule
from selfimprove.expressions import contradiction, expression, looks_like_expression
from selfimprove.goalfile.reader import Part, Value
from selfimprove.goalfile.values import command, script
from selfimprove.markdown import Piece, code_spans, plain
from selfimprove.words import NOTHING, direction, duration, fraction

_RULE = re.compile(r"`?([A-Za-z_][\w.]*)`?\s*:\s*([^`]*)")
_TIMEOUT = re.compile(
    r"[,;(\s]+(?:time-?out|at most|max)\s*:?\s+([\w. ]+?)\s*\)?\s*$", re.IGNORECASE
)
_RUN_COLUMNS = ("command", "run", "check", "rule", "expression", "guard")
_NAME = re.compile(r"[^\W\d][\w ./-]{0,39}")


@dataclass
class Guards:
    """What `## Guards` says."""

    commands: list[GuardCommand] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    sub_scores: dict[str, SubScoreRule] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    """Where each constraint and sub-score rule stands."""
    label: str = ""
    """The name of the block of code to come."""


def read_guards(part: Part, metric: Metric) -> Guards:
    """Sort the section's lines into commands, expressions and rules for sub-scores."""
    guards = Guards()
    for piece in part.pieces:
        if piece.kind == "row":
            _row(part, piece, guards)
        elif piece.kind == "code":
            _block(part, piece, guards)
        elif piece.kind != "heading":
            _line(part, piece, guards)
    _check(part, guards, metric)
    return guards


def _line(part: Part, piece: Piece, guards: Guards) -> None:
    text = plain(piece.text) if not code_spans(piece.text) else piece.text
    if plain(text).lower() in NOTHING or _is_measure(part, plain(text), piece.line, guards):
        return
    if text.endswith(":") and piece.kind == "item":
        guards.label = text.rstrip(": ")
        return
    if piece.kind == "text" and not code_spans(text):
        if text.endswith((":", ".")):
            return  # prose around the list
        raise _unclear(part, piece)
    label, rest = piece.split_key()
    is_command = piece.text.startswith("`") and not code_spans(rest)  # `pytest`: all green
    if is_command or not (rest and _NAME.fullmatch(plain(label))):
        label, rest = "", piece.text
    words, timeout = _timeout(part, rest, piece.line)
    run = command(part, part.checked(Value(words, piece.line)))
    if not code_spans(words) and _is_prose(run):
        raise _unclear(part, piece)
    _add(part, guards, Value(run, piece.line), plain(label), timeout)


def _block(part: Part, piece: Piece, guards: Guards) -> None:
    """Lines of code: expressions are taken out, the rest is one command."""
    lines = enumerate(piece.text.split("\n"), piece.line)
    rest = [line for number, line in lines if not _is_measure(part, line.strip(), number, guards)]
    if run := script("\n".join(rest)):
        _add(part, guards, part.checked(Value(run, piece.line)), guards.label, None)
        guards.label = ""


def _row(part: Part, piece: Piece, guards: Guards) -> None:
    cells = {plain(column).lower(): cell for column, cell in piece.cells}
    column = next((key for key in _RUN_COLUMNS if cells.get(key)), None)
    run = cells[column] if column else piece.cells[-1][1]
    label = "" if column == "guard" else cells.get("name", cells.get("guard", ""))
    if _is_measure(part, plain(run), piece.line, guards):
        return
    timeout = (
        _timeout(part, f", timeout {plain(cells['timeout'])}", piece.line)[1]
        if cells.get("timeout")
        else None
    )
    _add(
        part,
        guards,
        Value(command(part, Value(run, piece.line)), piece.line),
        plain(label),
        timeout,
    )


def _is_measure(part: Part, text: str, line: int, guards: Guards) -> bool:
    """Take `accuracy >= 0.98` or `memory_mb: lower, tolerance 5%`; False for anything else."""
    if meant := expression(text):
        guards.constraints.append(meant)
        guards.lines[meant] = line
        return True
    if looks_like_expression(text):
        raise part.error(
            line,
            f"cannot read the expression {text!r}",
            "write a name, a comparison and a plain number, such as 'accuracy >= 0.98'",
        )
    found = _RULE.fullmatch(text)
    if not found or direction(found[2].split(",")[0]) is None:
        return False
    if found[1] in guards.sub_scores:
        raise part.error(line, f"a second rule for {found[1]!r}", "keep one of the two")
    guards.lines[found[1]] = line
    guards.sub_scores[found[1]] = _rule(part, found[2], line)
    return True


def _rule(part: Part, text: str, line: int) -> SubScoreRule:
    words, _, more = re.sub(r"\s+%", "%", text).partition(",")
    better = direction(words)
    assert better is not None  # seen by the caller
    tolerance = re.fullmatch(r"\s*(?:tolerance|within|tolerate)?\s*:?\s*(\S+?)\s*%?\s*", more)
    if not more.strip():
        return SubScoreRule(direction=better)
    value = fraction(more.strip().split()[-1]) if tolerance else None
    if value is None:
        raise part.error(
            line, f"cannot read {more.strip()!r}", "write 'memory_mb: lower, tolerance 5%'"
        )
    return SubScoreRule(direction=better, tolerance=value)


def _timeout(part: Part, text: str, line: int) -> tuple[str, float | None]:
    """Take `, timeout 5m` off the end of a line, where it stands behind the command."""
    found = _TIMEOUT.search(text)
    if not found:
        return text, None
    seconds = duration(found[1])
    if seconds is None:
        if "timeout" in found[0].lower() and text.rstrip().endswith(")"):
            raise part.error(line, f"cannot read the time-out {found[1]!r}", "write '(timeout 5m)'")
        return text, None
    return text[: found.start()], seconds


def _add(part: Part, guards: Guards, run: Value, label: str, timeout: float | None) -> None:
    name = label or re.sub(r"[^\w.-]+", "_", run.text.removeprefix("set -e\n"))[:40].strip("_.")
    for other in guards.commands:
        if other.command == run.text:
            return
        if other.name == name:
            raise part.error(
                run.line, f"a second guard named {name!r}", "name each: '- unit tests: `pytest -q`'"
            )
    guards.commands.append(GuardCommand(name=name, command=run.text, timeout=timeout))


def _is_prose(words: str) -> bool:
    """`All tests pass` is a sentence, `Rscript test.R` and `make test` are commands."""
    return re.fullmatch(r"[A-Z][a-z]*(?: [A-Za-z']+)+\.?", words) is not None


def _unclear(part: Part, piece: Piece) -> Exception:
    return part.error(
        piece.line,
        f"cannot tell whether {piece.text!r} is a command",
        "write a command in backquotes, '- `pytest -q`', or an expression, '- accuracy >= 0.98'",
    )


def _check(part: Part, guards: Guards, metric: Metric) -> None:
    """Rules that nothing could satisfy are refused before anything runs."""
    own = guards.sub_scores.get(metric.name)
    if own and own.direction != metric.direction:
        raise part.error(
            guards.lines[metric.name],
            f"{metric.name!r} is the metric itself, and its direction is the other one",
            "take the line out, or correct '## Target Metric'",
        )
    if clash := contradiction(guards.constraints):
        raise part.error(
            guards.lines[clash[1]], f"{clash[0]!r} and {clash[1]!r} cannot both hold", "drop one"
        )
    if metric.target_value is not None:
        sign = "<=" if metric.direction == "lower_is_better" else ">="
        target = f"{metric.name} {sign} {metric.target_value!r}"
        for constraint in guards.constraints:
            if contradiction([constraint, target]):
                raise part.error(
                    guards.lines[constraint],
                    f"{constraint!r} keeps {metric.name} from its target {metric.target_value:g}",
                    "loosen the one or the other",
                )
