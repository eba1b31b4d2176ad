"""What is told of a candidate besides its score: the truth of what its plan asserted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selfimprove.app.options import ReplayOptions
from selfimprove.app.replay import replay
from selfimprove.cli.ids import Named
from selfimprove.cli.show import document
from selfimprove.store.rebuild import findings
from selfimprove.testing.rehearsal import Rehearsal, number_plan

Stage = Callable[..., Rehearsal]


def test_what_plans_assert_is_held_against_what_was_measured(stage: Stage) -> None:
    told: list[Any] = []

    def asserting(request: Any, tree: Path) -> dict[str, Any]:
        told.append(request.context["calibration"])
        claims = ["score <= 80", "gain >= 0.2", "a <= 20", "nobody notices"]
        return number_plan("a", 20 - request.round + 1, assertions=claims)(request, tree)

    play = stage(planner=asserting, settings={"number_of_agents": 1})
    play.run(max_iterations=2)
    found = play.document("state/results/round_1/executor_1.json")["assertions"]
    assert found == [
        {"text": "score <= 80", "holds": True},
        {"text": "gain >= 0.2", "holds": False, "why": "gain is 0.111111"},
        {"text": "a <= 20", "holds": True},
        {"text": "nobody notices", "why": "in words: no expression over what is measured"},
    ]
    rows = [json.loads(line) for line in play.layout.attempts.read_text().splitlines()]
    assert rows[0]["assertions"] == {"held": 2, "failed": 1}
    assert told[0] == []
    assert (told[1][0]["who"], told[1][0]["asserted"], told[1][0]["held"]) == (
        "planner_a", 3, 0.667,
    )  # fmt: skip
    assert document(play.layout, Named(1, "executor", "executor_1"))["assertions"] == found
    assert findings(play.layout) == []
    where = ReplayOptions(1, play.repository.path, "default", None, play.trees, True)
    assert replay(where) == 0
