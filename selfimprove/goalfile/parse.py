"""goal.md -> Goal, or one line that says where and how it should read."""

from __future__ import annotations

import hashlib
from pathlib import Path

from selfimprove.contracts.goal import Goal
from selfimprove.errors import ConfigError
from selfimprove.goalfile.benchmark import read_benchmark, read_scope
from selfimprove.goalfile.guards import read_guards
from selfimprove.goalfile.metric import read_metric
from selfimprove.goalfile.phases import read_goal_ideas, read_milestones, read_phases
from selfimprove.goalfile.reader import Part, Value, parts_of
from selfimprove.goalfile.slug import slugify
from selfimprove.markdown import normal_text, without_comments


def parse_goal(text: str, path: str = "goal.md") -> Goal:
    """Read a goal.md; the digest is that of the checked copy (newlines normalised)."""
    text = normal_text(text)
    if not without_comments(text).strip():
        raise ConfigError(
            f"{path}: it is empty", "fill in what `selfimprove goal --template` prints"
        )
    parts = parts_of(text, path)
    objective = _objective(parts["Objective"], text)
    scope = read_scope(parts["Scope"])
    benchmark = read_benchmark(parts["Benchmark"])
    metric = read_metric(parts["Target Metric"], benchmark.format == "pass_fail")
    guards = read_guards(parts["Guards"], metric)
    return Goal(
        objective=objective,
        slug=slugify(objective),
        metric=metric,
        scope=scope,
        benchmark=benchmark,
        guards=guards.commands,
        constraints=guards.constraints,
        sub_scores=guards.sub_scores,
        phases=read_phases(parts["Phases"]),
        milestones=read_milestones(parts["Milestones"]),
        ideas=read_goal_ideas(parts["Experiment Ideas"]),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
    )


def read_text(path: Path) -> str:
    """A goal.md's text; ConfigError when it cannot be read or is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path} line {line}: not UTF-8", "save the file as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", "give the file with --goal FILE") from None


def read_goal(path: Path) -> Goal:
    """Read and check a goal file."""
    return parse_goal(read_text(path), str(path))


def find_goal(directory: Path) -> Path | None:
    """The goal.md of a directory, in any case; the all-lower-case one where there are several."""
    try:
        names = sorted(entry for entry in directory.iterdir() if entry.name.lower() == "goal.md")
    except OSError:
        return None
    files = [entry for entry in names if entry.is_file()]
    return next((entry for entry in files if entry.name == "goal.md"), next(iter(files), None))


def _objective(part: Part, text: str) -> str:
    """The section's own text, comments taken out."""
    lines = text.split("\n")[part.body - 1 : part.end - 1] if part.line else []
    words = without_comments("\n".join(lines)).strip()
    if not words:
        raise part.missing("text", "a sentence that says what should get better, and why")
    part.checked(Value(words, part.body))
    return words
