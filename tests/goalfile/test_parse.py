from __future__ import annotations

from pathlib import Path

import pytest

from selfimprove.contracts.goal import Goal
from selfimprove.errors import ConfigError
from selfimprove.goalfile import (
    checked_copy,
    find_goal,
    goal_template,
    parse_goal,
    read_goal,
    render_goal,
)

GOAL = """\
# Faster orders

## Objective
Reduce the p95 latency of order handling.

Customers wait; see the dashboard.

## Target Metric
- **Metric name**: `p95_ms`
- **Target value**: < 120 ms
- **Direction**: lower

## Scope
- **In scope**: `orders/`, `lib/*.py`
- **Out of scope**:
  - `orders/legacy/` (frozen)
  - docs/
- **Hidden**: secrets.toml

## Benchmark
- **Command**: `python bench.py --json`
- **Format**: JSON
- **Timeout**: 20m
- **Sealed**: fixtures/

## Guards
All of these must hold:
- unit tests: `python -m pytest -q` (timeout 5m)
- `ruff check .`
- accuracy >= 0.98
- memory_mb: lower_is_better, tolerance 5%

## Phases
| Phase | Focus | Sub-Score Targets | Status |
|-------|-------|-------------------|--------|
| phase_1 | Primary dimension | dim_a >= 90.0 | active |
| phase_2 | Secondary dimension | dim_b <= 50.0, dim_c > 3 | pending |

## Milestones
- halfway: score <= 200
- score < 130

## Experiment Ideas
- Cache the schema
  between calls
- `orders/pricing.py::CHUNK = 1, 2, 4`
"""


def variant(old: str, new: str) -> str:
    assert old in GOAL
    return GOAL.replace(old, new)


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_goal(text, "goal.md")
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.remedy
    return message


def test_a_whole_goal() -> None:
    goal = parse_goal(GOAL)
    assert goal.objective.startswith("Reduce the p95 latency of order handling.\n\nCustomers")
    assert goal.slug == "reduce_the_p95_latency_of_order_handling"
    assert goal.metric.model_dump() == {
        "name": "p95_ms",
        "direction": "lower_is_better",
        "target_value": 120.0,
        "unit": "ms",
    }
    assert goal.scope.in_scope == ["orders/", "lib/*.py"]
    assert goal.scope.out_of_scope == ["orders/legacy/", "docs/"]
    assert goal.scope.hidden == ["secrets.toml"]
    assert goal.benchmark.command == "python bench.py --json"
    assert goal.benchmark.format == "json"
    assert goal.benchmark.timeout_s == 1200
    assert goal.benchmark.sealed == ["fixtures/"]
    assert [(g.name, g.command, g.timeout) for g in goal.guards] == [
        ("unit tests", "python -m pytest -q", 300.0),
        ("ruff_check", "ruff check .", None),
    ]
    assert goal.constraints == ["accuracy >= 0.98"]
    assert goal.sub_scores["memory_mb"].tolerance == 0.05
    assert [(p.name, p.targets, p.status) for p in goal.phases] == [
        ("phase_1", ["dim_a >= 90.0"], "active"),
        ("phase_2", ["dim_b <= 50.0", "dim_c > 3"], "pending"),
    ]
    assert [(m.name, m.target) for m in goal.milestones] == [
        ("halfway", "score <= 200"),
        ("score < 130", "score < 130"),
    ]
    assert goal.ideas == [
        "Cache the schema between calls",
        "`orders/pricing.py::CHUNK = 1, 2, 4`",
    ]


def test_windows_newlines_and_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "Goal.MD"
    file.write_bytes(b"\xef\xbb\xbf" + GOAL.replace("\n", "\r\n").encode())
    assert find_goal(tmp_path) == file
    goal = read_goal(file)
    assert goal == parse_goal(GOAL)
    assert parse_goal(checked_copy(file.read_bytes().decode("utf-8-sig"))) == goal


def test_what_is_rendered_reads_back_equal() -> None:
    goal = parse_goal(variant("`ruff check .`", "lint:\n  ```\n  ruff check .\n  mypy .\n  ```"))
    again = parse_goal(render_goal(goal))
    assert again.model_copy(update={"sha256": ""}) == goal.model_copy(update={"sha256": ""})
    assert goal.guards[1].command == "set -e\nruff check .\nmypy ."


LOOSE = """\
---
title: whatever
---
OBJECTIVE
=========
Make it *fast*.

### metric:
p95_ms < 120 ms

#### Scope
- orders/
- `my files/a b.py`

#### In scope
* src/__init__.py

##### Out of scope
1. src/vendor/**

## 4. Benchmark

```sh
$ cd src
$ python bench.py
```
"""


def test_other_ways_to_write_it() -> None:
    goal = parse_goal(LOOSE)
    assert goal.objective == "Make it *fast*."
    assert goal.slug == "make_it_fast"
    assert (goal.metric.name, goal.metric.direction) == ("p95_ms", "lower_is_better")
    assert goal.scope.in_scope == ["src/__init__.py", "orders/", "my files/a b.py"]
    assert goal.scope.out_of_scope == ["src/vendor/**"]
    assert goal.benchmark.command == "set -e\ncd src\npython bench.py"


TABLES = """\
## Objective
x
## Target Metric
| Field | Value |
|---|---|
| Metric name | `ops` |
| Direction | maximize |
## Scope
| In scope | Out of scope |
|---|---|
| src/ | src/gen/ |
| lib/ | |
## Guards
| Name | Command | Timeout |
|---|---|---|
| tests | `make test` | 2m |
"""


def test_tables() -> None:
    goal = parse_goal(TABLES)
    assert (goal.metric.name, goal.metric.direction) == ("ops", "higher_is_better")
    assert goal.scope.in_scope == ["src/", "lib/"]
    assert goal.scope.out_of_scope == ["src/gen/"]
    assert (goal.guards[0].name, goal.guards[0].timeout) == ("tests", 120)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("- **Direction**: lower", "- Direction: higher", 11, "wants lower"),
        ("- **Direction**: lower", "- Direction: sideways", 11, "'- Direction: lower'"),
        ("- **Direction**: lower", "- Drection: lower", 11, "did you mean 'Direction'"),
        ("- **Direction**: lower", "- Direction: lower\n- Direction: lower", 12, "line 11"),
        ("- **Direction**: lower", "- Direction: lower\n- Baseline: 90 ms", 12, "already reached"),
        ("< 120 ms", "fast enough", 10, "write one number"),
        ("< 120 ms", "120 or 130", 10, "write one number"),
        ("< 120 ms", "1,5", 10, "write one number"),
        ("< 120 ms", "95%", 10, "95 or 0.95"),
        ("`p95_ms`", "<the metric>", 9, "still the template's"),
        ("`orders/`, `lib/*.py`", "../other/", 14, "outside the repository"),
        ("`orders/`, `lib/*.py`", "the order pipeline", 14, "as a path"),
        ("docs/", "orders/", 17, "both 'In scope' and 'Out of scope'"),
        ("20m", "soon", 23, "'20m'"),
        ("**Format**: JSON", "**Format**: xml", 22, "pytest-benchmark"),
        ("**Format**: JSON", "**Format**: `regex:(`", 22, "does not compile"),
        ("**Format**: JSON", "**Format**: pass_fail", 11, "'- Direction: higher'"),
        (
            "**Format**: JSON",
            "**Prepare command**: make",
            22,
            "'prepare_command' in config/settings",
        ),
        ("accuracy >= 0.98", "accuracy >= 98%", 30, "'accuracy >= 0.98'"),
        ("accuracy >= 0.98", "All tests pass", 30, "in backquotes"),
        ("accuracy >= 0.98", "X=`date` make", 30, "one pair of backquotes"),
        (
            "accuracy >= 0.98",
            "`ruff check .`\n- ruff check: `b`\n- ruff check: `c`",
            32,
            "name each",
        ),
        ("accuracy >= 0.98", "p95_ms > 200", 30, "keeps p95_ms from its target"),
        ("accuracy >= 0.98", "x > 2\n- x < 1", 31, "cannot both hold"),
        ("tolerance 5%", "tolerance much", 31, "tolerance 5%"),
        ("memory_mb: lower_is_better", "p95_ms: higher", 31, "the other one"),
        ("| pending |", "| active |", 37, "keep one active"),
        ("| pending |", "| someday |", 37, "active, pending or completed"),
        ("dim_a >= 90.0", "dim_a is good", 36, "cannot read the expression"),
        ("score <= 200", "score <= 200 ms", 40, "without unit"),
        ("## Scope", "## Scop", 13, "write '## Scope'"),
        ("## Guards", "## Scope", 26, "line 13"),
    ],
)
def test_what_is_not_understood_is_named_with_its_line(
    old: str, new: str, line: int, says: str
) -> None:
    message = refusal(variant(old, new))
    assert message.startswith(f"goal.md line {line}: ")
    assert says in message


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (GOAL, "", "it is empty"),
        (GOAL, "<!-- nothing\nhere -->\n", "it is empty"),
        (
            "## Objective\nReduce the p95 latency of order handling.\n",
            "",
            "no '## Objective' section",
        ),
        ("- **Metric name**: `p95_ms`\n", "", "line 8: '## Target Metric' has no metric name"),
        (
            "- **In scope**: `orders/`, `lib/*.py`\n",
            "",
            "line 13: '## Scope' has no paths in scope",
        ),
        ("## Scope\n", "## Scope\n## Notes\n", "'## Scope' has no paths in scope"),
    ],
)
def test_what_is_missing_is_named(old: str, new: str, says: str) -> None:
    assert says in refusal(variant(old, new))


def test_a_missing_direction_follows_from_the_target_or_is_asked_for() -> None:
    without = variant("- **Direction**: lower\n", "")
    assert parse_goal(without).metric.direction == "lower_is_better"
    assert "'- Direction: lower'" in refusal(without.replace("< 120 ms", "120"))


def test_not_utf8_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "goal.md"
    file.write_bytes(b"## Objective\nx\n\xff\n")
    with pytest.raises(ConfigError, match="line 3: not UTF-8"):
        read_goal(file)


def test_the_template_asks_to_be_filled_in_and_then_parses() -> None:
    template = goal_template()
    assert "still the template's" in refusal(template)
    for old, new in (
        ("<What should get better, for whom, and what must stay as it is.>", "Faster."),
        ("<the name the benchmark prints, such as p95_ms>", "p95_ms"),
        ("<lower or higher>", "lower"),
        ("<paths, folders or globs that may be edited, such as src/, lib/*.py>", "src/"),
    ):
        assert old in template
        template = template.replace(old, new)
    assert "still the template's" in refusal(template)
    goal = parse_goal(
        template.replace("<what prints the score, such as python bench.py>", "make b")
    )
    assert isinstance(goal, Goal)
    assert (goal.benchmark.command, goal.guards, goal.phases, goal.ideas) == ("make b", [], [], [])
    assert goal.metric.target_value is None
    assert goal.scope.out_of_scope == []


@pytest.mark.parametrize(
    ("line", "name", "command"),
    [
        ("- `pytest -q`: all green", "pytest_-q", "pytest -q"),
        ("- unit tests - `pytest -q` (fast)", "pytest_-q", "pytest -q"),
        ("- pytest -q", "pytest_-q", "pytest -q"),
        ("`pytest -q`", "pytest_-q", "pytest -q"),
        ("- **Unit tests:** pytest -q", "Unit tests", "pytest -q"),
        ("- `a b`: `c d`", "a b", "c d"),
        ("- Rscript test.R", "Rscript_test.R", "Rscript test.R"),
        ("- ``echo `date` ``", "echo_date", "echo `date`"),
        ("- long:\n  ```\n  a \\\n    b\n  ```", "long", "a \\\n  b"),
    ],
)
def test_guard_commands(line: str, name: str, command: str) -> None:
    goal = parse_goal(GOAL.replace("- unit tests: `python -m pytest -q` (timeout 5m)", line))
    assert (goal.guards[0].name, goal.guards[0].command) == (name, command)


@pytest.mark.parametrize("mark", ["**", ""])
def test_labels_without_a_colon_open_their_list(mark: str) -> None:
    scope = (
        "**In scope**\n- src/\n- include\n- `hidden`: not secret\n\n**Out of scope**\n- src/x/\n"
    )
    text = GOAL[: GOAL.index("- **In scope**")] + scope.replace("**", mark)
    goal = parse_goal(text)
    assert goal.scope.in_scope == ["src/", "include", "hidden"]
    assert goal.scope.out_of_scope == ["src/x/"]


def test_a_table_of_guards_with_rules() -> None:
    table = "| Guard | Rule |\n|--|--|\n| acc | accuracy >= 0.9 |\n| tests | `make test` |\n"
    goal = parse_goal(GOAL[: GOAL.index("All of these")] + table + "\n- m: lower, within 3 %\n")
    assert goal.constraints == ["accuracy >= 0.9"]
    assert [(guard.name, guard.command) for guard in goal.guards] == [("tests", "make test")]
    assert goal.sub_scores["m"].tolerance == 0.03


def test_find_goal_prefers_the_lower_case_name(tmp_path: Path) -> None:
    assert find_goal(tmp_path) is None
    (tmp_path / "GOAL.md").write_text("x")
    assert find_goal(tmp_path) == tmp_path / "GOAL.md"
    (tmp_path / "goal.md").write_text("x")
    assert find_goal(tmp_path) == tmp_path / "goal.md"
