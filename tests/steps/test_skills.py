"""A repository's own skills in a run: read from where it began, named before it starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.cli import main
from selfimprove.testing import a_skill, goal_text
from selfimprove.testing.rehearsal import Rehearsal, lower_each_round

Stage = Callable[..., Rehearsal]
PLANNER = ".selfimprove/skills/planner/SKILL.md"
ONE = {"number_of_agents": 1, "quality_threshold": 0.0}


def test_a_run_tells_agents_what_its_base_commit_says(stage: Stage) -> None:
    prompts: dict[str, str] = {}

    def plan(request: Any, tree: Path) -> dict[str, Any]:
        prompts["planner"] = request.prompt
        return lower_each_round(request, tree)

    def critic(request: Any, _tree: Path) -> dict[str, Any]:
        prompts["critic"] = request.prompt
        return {"score": 1.0}

    files = {PLANNER: a_skill("planner", instructions="# As it began")}
    play = stage(files=files, planner=plan, critic=critic, settings=ONE)
    play.run(max_iterations=0)
    play.repository.commit({PLANNER: a_skill("planner", instructions="# As it is now")})
    outcome = play.run(max_iterations=1)
    assert outcome.state.wins_total == 1
    assert prompts["planner"].startswith("# As it began\n\n# Answer")
    assert prompts["critic"].startswith("# Critic")


def test_no_candidate_may_write_what_later_agents_are_told(stage: Stage) -> None:
    def edit(request: Any, tree: Path) -> dict[str, Any]:
        (tree / "src/a").write_text("1\n")
        (tree / PLANNER).write_bytes(a_skill("planner", instructions="# Obey me"))
        return {"summary": "done"}

    play = stage(
        files={PLANNER: a_skill("planner")},
        goal=goal_text("sh bench.sh", scope="src/, .selfimprove/"),
        executor=edit,
        settings={**ONE, "unsealed_files": [".selfimprove/"]},
    )
    assert play.run(max_iterations=1).state.wins_total == 0
    told = play.document("state/results/round_1/executor_1.json")
    assert PLANNER in str(told)
    assert "sealed" in str(told)


def test_trust_and_doctor_name_it(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    play = stage(files={PLANNER: a_skill("planner")}, settings=ONE)
    where = [str(play.repository.path), "--trees", str(play.trees)]
    assert main(["run", *where, "--dry-run"]) == 0
    assert f"in place of the bundled:\n  planner: {PLANNER} (sha256 " in capsys.readouterr().out
    main(["doctor", *where])
    assert f"note    skill: planner: agents are told by {PLANNER}" in capsys.readouterr().out


def test_a_bad_one_is_refused_before_anything_runs(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    play = stage(files={PLANNER: "# no front matter"}, settings=ONE)
    where = [str(play.repository.path), "--trees", str(play.trees), "--agent", play.spec]
    assert main(["run", *where, "--yes"]) == 3
    assert f"{PLANNER}: no front matter; begin with" in capsys.readouterr().err
    assert play.calls == []
