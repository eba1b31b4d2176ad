from __future__ import annotations

from pathlib import Path

from selfimprove.store.attempts import Attempts


def test_what_is_made_of_all_rows_is_made_again_only_for_more_of_them(tmp_path: Path) -> None:
    index = tmp_path / "attempts.jsonl"
    attempts, asked = Attempts(index), []

    def count() -> int:
        return attempts.made_once(lambda rows: asked.append(len(rows)) or len(rows))

    assert [count(), count()] == [0, 0]
    index.write_text('{"plan_id": "one"}\n')
    assert [count(), count()] == [1, 1]
    with index.open("a") as file:
        file.write('{"plan_id": "two"}\n{"plan_id": "th')
    assert [count(), count()] == [2, 2]
    assert asked == [0, 1, 2]
