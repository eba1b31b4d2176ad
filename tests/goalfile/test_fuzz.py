"""Whatever stands in a goal.md, the answer is a goal that reads back equal, or one clear line."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from test_parse import GOAL

from selfimprove.contracts.goal import Goal
from selfimprove.errors import ConfigError
from selfimprove.goalfile import checked_copy, parse_goal, render_goal

LINES = GOAL.split("\n")
MARKS = [
    "",
    "```",
    "<!--",
    "-->",
    "## ",
    "- ",
    "> ",
    "| a | b |",
    "|--|--|",
    "**",
    "`",
    "---",
    "    x",
]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, len(LINES) - 1), st.sampled_from(MARKS) | st.text(max_size=20))
    ),
    st.sets(st.integers(0, len(LINES) - 1), max_size=6),
)
def test_broken_goals(inserted: list[tuple[int, str]], dropped: set[int]) -> None:
    lines = [line for number, line in enumerate(LINES) if number not in dropped]
    for place, words in inserted:
        lines.insert(min(place, len(lines)), words)
    text = "\n".join(lines)
    answer = read(text)
    if isinstance(answer, ConfigError):
        assert "\n" not in str(answer)
        assert answer.remedy
    else:
        assert parse_goal(checked_copy(text)) == answer


def read(text: str) -> Goal | ConfigError:
    try:
        return parse_goal(text)
    except ConfigError as error:
        return error


words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
paths = st.lists(words.map(lambda word: f"{word}/"), min_size=1, max_size=3, unique=True)


@settings(max_examples=40, deadline=None)
@given(
    words,
    paths,
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["lower", "higher"]),
)
def test_goals_survive_rendering(name: str, scope: list[str], target: float, better: str) -> None:
    goal = parse_goal(
        f"## Objective\nMake {name} better\n## Target Metric\n- Metric name: `{name}`\n"
        f"- Target value: {target!r}\n- Direction: {better}\n## Scope\n- {', '.join(scope)}\n"
    )
    assert goal.scope.in_scope == scope
    assert goal.metric.target_value == target
    again = parse_goal(render_goal(goal))
    assert again.model_copy(update={"sha256": goal.sha256}) == goal
