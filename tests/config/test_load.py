from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from selfimprove.config import Config, Source, load_config
from selfimprove.contracts.settings import Settings
from selfimprove.errors import ConfigError
from selfimprove.goalfile import parse_goal

GOAL = """\
## Objective
Faster.
## Target Metric
- Metric name: p95
- Target value: < 120 ms
## Scope
- src/
## Benchmark
- Command: python bench.py
- Timeout: 2m
- Sealed: bench.py
## Guards
- tests: `pytest -q`
- memory_mb: lower, tolerance 5%
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config/settings.json"


def write(file: Path, **settings: Any) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(settings))
    return file


def load(file: Path, flags: dict[str, Any] | None = None, **environ: str) -> Config:
    return load_config(file, parse_goal(GOAL), flags or {}, environ)


def refusal(file: Path, flags: dict[str, Any] | None = None, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(file, flags, **environ)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_defaults_and_goal(file: Path) -> None:
    config = load(file)
    assert config.settings.number_of_agents == 3
    assert config.settings.benchmark_command == "python bench.py"
    assert config.settings.benchmark_timeout == 120
    assert config.settings.target_value == 120
    assert config.settings.sealed_files == ["bench.py"]
    assert config.settings.guards[0].command == "pytest -q"
    assert config.settings.sub_scores["memory_mb"].tolerance == 0.05
    assert config.sources["benchmark_command"] is Source.GOAL
    assert config.sources["sub_scores.memory_mb.tolerance"] is Source.GOAL
    assert config.sources["benchmark_format"] is Source.DEFAULT


def test_each_source_beats_the_ones_below(file: Path) -> None:
    write(file, benchmark_timeout=10, patience=4, budget={"run": {"usd": 1, "calls": 9}})
    environ = {"SELFIMPROVE_PATIENCE": "5", "SELFIMPROVE_BUDGET__RUN__USD": "2.5"}
    flags = {"budget.run.usd": 3, "max_iterations": 7, "topic_slug": None}
    config = load(file, flags, **environ)
    assert config.settings.benchmark_timeout == 10
    assert config.settings.patience == 5
    assert config.settings.budget.run.usd == 3
    assert config.settings.budget.run.calls == 9
    assert config.settings.max_iterations == 7
    assert config.sources["benchmark_timeout"] is Source.FILE
    assert config.sources["patience"] is Source.ENVIRONMENT
    assert config.sources["budget.run.usd"] is Source.FLAG
    assert config.sources["budget.run.calls"] is Source.FILE
    assert config.sources["topic_slug"] is Source.DEFAULT


def test_every_leaf_has_a_source_and_a_row(file: Path) -> None:
    write(file, sub_scores={}, agents={"planner": ["offline"]}, provide=[{"path": ".venv"}])
    config = load(file)
    rows = {key: (value, source) for key, value, source in config.rows()}
    assert rows["sub_scores.memory_mb.direction"] == ("lower_is_better", Source.GOAL)
    assert rows["agents.planner"] == (["offline"], Source.FILE)
    assert rows["provide"][1] is Source.FILE
    assert set(rows) == set(config.sources)
    assert {key.partition(".")[0] for key in rows} >= set(Settings.model_fields) - {"agents"}


def test_values_of_variables_are_json_or_plain_strings(file: Path) -> None:
    config = load(
        file,
        SELFIMPROVE_ENV='["A", "B"]',
        SELFIMPROVE_AGENTS__PLANNER='["offline", "command:x"]',
        SELFIMPROVE_AGENTS__BENCHMARK_BUILDER="offline",
        SELFIMPROVE_TARGET_VALUE="null",
        SELFIMPROVE_TOPIC_SLUG="123",
        SELFIMPROVE_TARGET_BRANCH='"main"',
        SELFIMPROVE_SANDBOX__NETWORK="host",
        SELFIMPROVE_EXPORT_GIT="true",
    )
    settings = config.settings
    assert settings.env == ["A", "B"]
    assert settings.agents == {"planner": ["offline", "command:x"], "benchmark-builder": "offline"}
    assert settings.target_value is None
    assert config.sources["target_value"] is Source.ENVIRONMENT
    assert (settings.topic_slug, settings.target_branch) == ("123", "main")
    assert settings.sandbox.network == "host"
    assert settings.export_git is True


def test_aliases(file: Path) -> None:
    write(file, QUALITY_THRESHOLD=0.1, MAX_PLAN_RETRIES=9)
    config = load(file, MAX_PLAN_RETRIES="4", ENABLE_ADAPTIVE_REFINEMENT="false")
    assert config.settings.quality_threshold == 0.1
    assert config.settings.max_plan_retries == 4
    assert config.settings.adaptive_refinement is False
    both = load(file, MAX_PLAN_RETRIES="4", SELFIMPROVE_MAX_PLAN_RETRIES="5")
    assert both.settings.max_plan_retries == 5


def test_an_unknown_key_in_the_file_names_the_nearest(file: Path) -> None:
    assert "did you mean 'max_iterations'?" in refusal(write(file, max_iteration=3))
    assert "did you mean 'sandbox.memory_mb'?" in refusal(write(file, sandbox={"memory_md": 3}))
    assert "did you mean 'budget.run.usd'" in refusal(write(file, budget={"run": {"usdd": 3}}))
    assert "'guards.0.cmd'" in refusal(write(file, guards=[{"name": "a", "cmd": "b"}]))


def test_an_unknown_variable_is_a_warning_and_reserved_ones_are_not(file: Path) -> None:
    config = load(file, SELFIMPROVE_PATIENSE="3", SELFIMPROVE_ROLE="planner", OTHER="1")
    assert config.warnings[:1] == (
        "SELFIMPROVE_PATIENSE is not a setting; did you mean SELFIMPROVE_PATIENCE?",
    )
    assert not any("ROLE" in warning or "OTHER" in warning for warning in config.warnings)
    assert config.settings.patience == 10


@pytest.mark.parametrize(
    ("flags", "environ", "says"),
    [
        ({"patience": "many"}, {}, "flag for patience: patience:"),
        ({"patiense": 3}, {}, "did you mean 'patience'?"),
        ({}, {"SELFIMPROVE_PATIENCE": "many"}, "variable SELFIMPROVE_PATIENCE: patience:"),
        ({}, {"SELFIMPROVE_SEALED_FILES": "a.py"}, "variable SELFIMPROVE_SEALED_FILES:"),
        ({}, {"SELFIMPROVE_BUDGET": '{"rnu": {}}'}, "variable SELFIMPROVE_BUDGET: 'budget.rnu'"),
        ({}, {"QUALITY_THRESHOLD": "2"}, "variable QUALITY_THRESHOLD: quality_threshold:"),
        ({"benchmark_format": "xml"}, {}, "known: json, number"),
        ({"benchmark_format": "regex:("}, {}, "does not compile"),
        ({"benchmark_direction": "higher_is_better"}, {}, "set target_value there too"),
        ({"benchmark_format": "pass_fail"}, {}, "benchmark_direction to higher_is_better"),
        ({"sub_scores": {"p95": {"direction": "higher_is_better"}}}, {}, "is the metric itself"),
        ({"constraints": ["x is small"]}, {}, "write 'accuracy >= 0.98'"),
        ({"constraints": ["x > 2", "x < 1"]}, {}, "cannot both hold"),
        ({"agents": {"plannr": "offline"}}, {}, "did you mean 'planner'?"),
        ({"agents": {"critic": ["a", "b"]}}, {}, "takes one agent"),
        ({"env": ["A=1"]}, {}, "no name of a variable"),
        ({"guards": [{"name": "a", "command": "x"}] * 2}, {}, "2 guards are named 'a'"),
    ],
)
def test_refusals_name_the_place(
    file: Path, flags: dict[str, Any], environ: dict[str, str], says: str
) -> None:
    assert says in refusal(file, flags, **environ)


def test_a_turned_direction_with_its_own_target_is_meant(file: Path) -> None:
    config = load(file, {"benchmark_direction": "higher_is_better", "target_value": 500})
    assert config.settings.benchmark_direction == "higher_is_better"


@pytest.mark.parametrize("text", ["{", "[]", '{"patience": 1, "patience": 2}', "\xff"])
def test_a_damaged_file_is_named_and_left(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_bytes(text.encode("latin-1"))
    assert str(file) in refusal(file)
    assert file.read_bytes() == text.encode("latin-1")


def test_doubts_are_warnings(file: Path) -> None:
    flags = {"agents": {"planner": ["offline"] * 4}, "primary_metric": "p50"}
    warnings = " ".join(load(file, flags).warnings)
    assert "4 planners" in warnings
    assert "'p50'" in warnings


def test_what_is_not_in_force_is_named_in_one_line(file: Path) -> None:
    def told(**settings: Any) -> list[str]:
        return [each for each in load(write(file, **settings)).warnings if "not in force" in each]

    plain = GOAL.replace("- memory_mb: lower, tolerance 5%\n", "")
    assert load_config(file, parse_goal(plain), {}, {}).warnings == ()
    assert told() == []
    assert told(export_git=True, services=[{"name": "db", "start": "db"}]) == []
    assert told(critique_execution=True) == []
    (line,) = told(auto_pr=True, upstream_url="https://example.org/up.git")
    assert line.endswith("auto_pr, upstream_url")


MODEL = "anthropic:claude-sonnet-4-5"


@pytest.mark.parametrize(
    ("agents", "more", "roles"),
    [
        ({"critic": MODEL, "planner": MODEL}, {}, "planners"),
        ({"critic": MODEL, "planner": ["offline", MODEL]}, {}, "planners"),
        ({"critic": "claude-code:claude-sonnet-4-5", "planner": MODEL}, {}, "planners"),
        ({"critic": "codex", "planner": "codex"}, {}, "planners"),
        ({"critic": MODEL, "executor": MODEL}, {"critique_execution": True}, "executors"),
        (
            {"critic": MODEL, "planner": MODEL, "executor": MODEL},
            {"critique_execution": True},
            "planners and executors",
        ),
        ({"critic": MODEL, "executor": MODEL}, {}, ""),
        ({"critic": MODEL, "planner": MODEL}, {"number_of_max_critics": 0}, ""),
        ({"critic": "anthropic:other", "planner": MODEL}, {}, ""),
        ({"critic": "command:./agent", "planner": "command:./agent"}, {}, ""),
        ({"critic": "offline", "planner": "offline"}, {}, ""),
        ({}, {}, ""),
    ],
)
def test_a_critic_of_the_model_that_it_judges_is_warned_of_once(
    file: Path, agents: dict[str, Any], more: dict[str, Any], roles: str
) -> None:
    warnings = [
        line for line in load(file, {"agents": agents, **more}).warnings if "critic" in line
    ]
    assert len(warnings) == bool(roles)
    if roles:
        assert warnings[0].startswith(f"critic and {roles} are one model (")
