"""What `validate` says of a document that was edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from selfimprove.store.rebuild import findings
from selfimprove.testing.records import finished


@pytest.mark.parametrize(
    ("path", "field", "value", "said"),
    [
        ("tracking/baseline.json", "direction", "up", "direction: Input should be"),
        ("state/agent-settings.json", "status", "asleep", "status: Input should be"),
        ("state/iteration_state.json", "iteration", -1, "iteration: Input should be greater"),
        ("state/run.json", "colour", "red", "colour: Extra inputs"),
        ("state/research_briefs/round_1.json", "ideas", None, "ideas: Input should be"),
        ("state/plan_archive/round_1/plan_planner_a.json", "hypothesis", "", "hypothesis: "),
        ("state/results/round_1/executor_1.json", "status", "fine", "status: Input should be"),
        ("state/merge_reports/round_1.json", "status", "lost", "status: Input should be"),
        ("state/iteration_history/round_1.json", "losers", {}, "losers: Input should be"),
        ("tracking/raw_data.json", "is_winner", "perhaps", "row 2: is_winner: Input should be"),
        ("tracking/baseline.json", "score", 1.5, "differs from what the journal says"),
        ("tracking/raw_data.json", "benchmark_score", 1.5, "differs from what the journal says"),
    ],
)
def test_an_edited_document_is_named_with_field_and_reason(
    tmp_path: Path, path: str, field: str, value: Any, said: str
) -> None:
    layout = finished(tmp_path).layout
    file = layout.root / path
    document = json.loads(file.read_bytes())
    (document[1] if isinstance(document, list) else document)[field] = value
    file.write_text(json.dumps(document))
    (found,) = findings(layout)
    assert found.startswith(f"{path}: {said}")


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("tracking/raw_data.json", "{}", "it should be a list of rows"),
        ("tracking/raw_data.json", "[", "not JSON"),
        ("state/run.json", "", "not JSON"),
    ],
)
def test_a_document_that_is_none_is_named(tmp_path: Path, path: str, text: str, said: str) -> None:
    layout = finished(tmp_path).layout
    (layout.root / path).write_text(text)
    (found,) = findings(layout)
    assert found.startswith(f"{path}: {said}")
