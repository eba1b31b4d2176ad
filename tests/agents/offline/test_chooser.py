# ruff: noqa: E501 - a case a line
from __future__ import annotations

import math
from typing import Any

from selfimprove.agents.offline.attempts import attempts_of
from selfimprove.agents.offline.chooser import Chooser
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.agents.offline.profile import Profile
from selfimprove.agents.offline.values import choices, numbers, prior_of

GOAL = {"metric": {"direction": "lower_is_better"}}


def idea(name: str = "CHUNK", old: str = "64", **more: Any) -> ChangeIdea:
    given = {"values": tuple(numbers(old)), "prior": 0.6} | more
    return ChangeIdea(
        tool="tunable.set", name=name, path="a.py", line=1, symbol="", family="data",
        title="t", why="w", excerpt="e", old=old, **given,
    )  # fmt: skip


def row(number: int, old: str, new: str, score: float | None, outcome: str) -> dict[str, Any]:
    args = {"path": "a.py", "name": "CHUNK", "old": old, "new": new}
    use = {"id": "e", "tool": "tunable.set", "args": args}
    return {
        "plan_id": f"p{number}", "round": number, "outcome": outcome, "tool_plan": [use],
        "score": score, "incumbent_score": 100.0,
    }  # fmt: skip


def chooser(rows: list[dict[str, Any]], seed: int = 0) -> Chooser:
    return Chooser(attempts_of({"goal": GOAL, "attempts": rows}), Profile(), seed)


def test_a_number_is_driven_to_where_the_score_is_best() -> None:
    """The cost is least at 700; it starts from 64 and is told every result."""

    def cost(value: float) -> float:
        return 100 * (1 + abs(math.log(value / 700)))

    current, rows, best = "64", [], cost(64)
    for number in range(12):
        value = chooser(rows, seed=number).value(idea(old=current))
        if value is None:
            break
        assert value not in {r["tool_plan"][0]["args"]["new"] for r in rows}
        score = cost(float(value))
        made = row(number, current, value, score, "won" if score < best else "lost")
        rows.append(made | {"incumbent_score": best})
        if score < best:
            current, best = value, score
    assert 350 < int(current) < 1400


def test_after_a_win_upwards_it_goes_on_upwards() -> None:
    rows = [row(1, "32", "64", 80.0, "won")]
    assert int(chooser(rows).value(idea()) or 0) > 64


def test_after_a_loss_upwards_it_turns_back() -> None:
    assert int(chooser([row(1, "64", "128", 140.0, "lost")]).value(idea()) or 999) < 64


def test_a_constant_that_does_not_matter_is_left_alone() -> None:
    rows = [row(n, "64", new, 100.01, "lost") for n, new in enumerate(["128", "32", "256"])]
    assert chooser(rows).value(idea()) is None


def test_losers_fall_behind_and_winners_move_up() -> None:
    other = idea(name="BLOCK")
    assert chooser([]).ranked([idea(), other]) == [other, idea()]
    assert chooser([row(1, "32", "64", 80.0, "won")]).ranked([other, idea()])[0] == idea()
    lost = [row(1, "64", "128", 100.0, "lost"), row(2, "64", "32", None, "error")]
    assert chooser(lost).ranked([idea(), other])[0] == other


def test_what_a_person_asked_for_comes_first_and_in_the_given_order() -> None:
    asked = idea(name="CHUNK", prior=0.01, values=("7", "5"))
    top = Chooser((), Profile(), 0, asked=(asked.key,))
    [first, second] = top.choices([idea(name="BLOCK", prior=0.9), asked], 2)
    assert (first.idea, first.value, second.idea.name) == (asked, "7", "BLOCK")
    told = attempts_of({"goal": GOAL, "attempts": [row(1, "64", "7", 120.0, "lost")]})
    assert Chooser(told, Profile(), 0, asked=(asked.key,)).value(asked) == "5"


def test_proposals_depend_on_the_seed_alone() -> None:
    rows = [row(n, "64", new, s, "lost") for n, new, s in [(1, "128", 110), (2, "32", 140), (3, "256", 160)]]  # fmt: skip
    assert chooser(rows, 1).value(idea()) == chooser(rows, 1).value(idea())
    assert len({chooser(rows, seed).value(idea()) for seed in range(6)}) > 1


def test_numbers_are_tried_both_ways_and_never_as_they_are() -> None:
    assert numbers("64")[:4] == ["128", "32", "256", "16"]
    assert numbers("0.9")[:3] == ["0.45", "0.95", "0.225"]
    for literal in ("1", "3", "100", "0.01", "-5", "1e6"):
        found = numbers(literal)
        assert found
        assert len(set(found)) == len(found)
        assert float(literal) not in [float(each) for each in found]
    assert numbers("'x'") == []


def test_words_that_the_code_compares_with_come_before_guesses() -> None:
    assert choices("linear", frozenset({"linear", "tree"})) == ["tree"]
    assert choices("linear") == ["binary", "hash"]
    assert choices("utf-8") == []


def test_names_of_performance_promise_more_than_names_of_workload() -> None:
    assert prior_of("CHUNK_SIZE", "4") > prior_of("WEIGHT", "4") > prior_of("N", "4")
