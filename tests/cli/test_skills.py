"""`selfimprove skills`: what each role is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from selfimprove.resources import text
from selfimprove.testing import Repository, a_skill, build_repository

PLANNER = ".selfimprove/skills/planner/SKILL.md"
ROLES = ["researcher", "planner", "architect", "critic", "executor"]


@pytest.fixture
def target(tmp_path: Path) -> Repository:
    """A repository that overrides one skill and brings another."""
    linter = a_skill("linter", "report", description="Finds [red]lint[/red].\x1b[31m")
    files = {PLANNER: a_skill("planner"), ".selfimprove/skills/linter/SKILL.md": linter}
    return build_repository(tmp_path / "target", files)


def test_the_bundled_skills_are_listed_anywhere(tmp_path, invoke, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = json.loads(invoke("skills", "--json").out)
    assert [each["id"] for each in told if each["asked_by_a_run"]] == ROLES
    assert {each["source"] for each in told} == {"bundled"}
    assert told[1]["artifact_kind"] == "plan"
    assert "goal" in told[1]["accepted_inputs"]
    lines = invoke("skills").out.splitlines()
    assert lines[0].split() == ["skill", "gives", "from", "asked", "by", "what", "it", "does"]
    rows = {line.split()[0]: line for line in lines if line[:1].strip()}
    assert "run" in rows["planner"]
    assert " init " in rows["goal-clarifier"]
    assert " init " in rows["benchmark-builder"]


def test_a_repositorys_own_are_listed_with_their_place(target, invoke) -> None:
    told = {each["id"]: each for each in json.loads(invoke("skills", target.path, "--json").out)}
    assert (told["planner"]["source"], told["planner"]["place"]) == ("repository", PLANNER)
    assert told["critic"]["source"] == "bundled"
    assert told["linter"]["asked_by_a_run"] is False
    assert told["linter"]["asked_by"] == "nothing"
    out = invoke("skills", target.path).out
    assert f"repository: {PLANNER}" in out
    assert "Finds [red]lint[/red]." in out
    assert "\x1b" not in out


def test_one_is_shown_whole(target, invoke, monkeypatch) -> None:
    shown = invoke("skills", "--show", "critic", target.path).out
    assert shown.startswith("id: critic\nartifact_kind: critique\naccepted_inputs: goal, rules")
    assert text("skills/critic/SKILL.md").rpartition("---\n")[2].strip() in shown
    mine = json.loads(invoke("skills", "--show", "planner", target.path, "--json").out)
    assert mine["instructions"] == "# Do it"
    answer = invoke("skills", "--show", "poet", target.path)
    assert answer.code == 2
    assert "no skill 'poet'; there are researcher, planner" in answer.err


def test_what_is_not_committed_is_said_not_to_be_read(target, invoke) -> None:
    target.write({PLANNER: a_skill("planner", instructions="# Edited")})
    target.write({".selfimprove/skills/critic/SKILL.md": a_skill("critic", "critique")})
    answer = invoke("skills", "--show", "planner", target.path)
    assert "# Edited" not in answer.out
    notes = [line for line in answer.err.splitlines() if "not committed as it stands" in line]
    assert [PLANNER in notes[1], "critic/SKILL.md" in notes[0], len(notes)] == [True, True, 2]


def test_a_bad_skill_is_one_line_and_exit_3(target, invoke) -> None:
    target.commit({PLANNER: a_skill("planner", capability_tags="")})
    answer = invoke("skills", target.path)
    assert answer.code == 3
    assert answer.err.count("\n") == 1
    assert f"{PLANNER}: metadata.capability_tags: " in answer.err


def test_a_place_that_is_no_repository_is_exit_3(tmp_path, invoke) -> None:
    assert invoke("skills", tmp_path).code == 3
