"""What is reserved and settled by several at once stays within what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selfimprove.agents.purse import OpenTab, Purse, Scope, Tab, amount, read_tabs
from selfimprove.contracts.agent import Usage


def opened(name: str, role: str = "planner") -> OpenTab:
    ids: dict[str, Any] = {"id": name, "about": f"round_1/planning/{name}", "agent": name}
    return OpenTab(session=name, role=role, args_hash="", request="", **ids)


def begun(purse: Purse, folder: Path, name: str, role: str = "planner") -> Tab:
    assert purse.open(opened(name, role), folder / f"{name}.tab") == ""
    tab = purse.tab(name)
    assert tab is not None
    return tab


def usage(tokens: int, usd: float, calls: int = 1) -> Usage:
    return Usage(input_tokens=tokens, usd=usd, calls=calls)


def test_what_others_have_reserved_is_not_there(tmp_path: Path) -> None:
    purse = Purse(scopes=(Scope("the run", tokens=100, usd=1.0),))
    a, b = begun(purse, tmp_path, "a"), begun(purse, tmp_path, "b")
    assert a.reserve(usage(60, 0.6)) == ""
    assert b.reserve(usage(60, 0.2)) == "the run has 40 tokens left"
    assert b.waits()
    a.settle(usage(10, 0.1))
    assert b.reserve(usage(60, 0.2)) == ""
    assert a.reserve(usage(30, 0.8)) == "the run has 0.7 dollars left"
    b.settle(usage(60, 0.2))
    assert not a.waits()
    assert a.reserve(usage(30, 0.8)) == "the run has 0.7 dollars left"


def test_a_question_may_begin_while_others_have_the_rest_reserved(tmp_path: Path) -> None:
    purse = Purse(scopes=(Scope("the run", usd=1.0),))
    a = begun(purse, tmp_path, "a")
    assert a.reserve(usage(60, 1.0)) == ""
    begun(purse, tmp_path, "b")
    a.settle(usage(60, 1.0))
    assert purse.open(opened("c"), tmp_path / "c") == "the run has 0 dollars left"


def test_calls_are_given_out_one_by_one(tmp_path: Path) -> None:
    purse = Purse(scopes=(Scope("the run", calls=2),))
    begun(purse, tmp_path, "a")
    begun(purse, tmp_path, "b")
    assert purse.open(opened("c"), tmp_path / "c") == "the run has 0 calls left"


def test_a_role_s_budget_binds_that_role_alone(tmp_path: Path) -> None:
    purse = Purse(scopes=(Scope("the role critic", tokens=50, role="critic"),))
    planner = begun(purse, tmp_path, "planner_a")
    assert planner.reserve(usage(500, 0.0)) == ""
    critic = begun(purse, tmp_path, "critic_1", "critic")
    assert critic.reserve(usage(40, 0.0)) == ""
    assert begun(purse, tmp_path, "critic_2", "critic").reserve(usage(20, 0.0)) != ""


def test_one_question_has_a_budget_of_its_own(tmp_path: Path) -> None:
    purse = Purse(call=Scope("a single question", usd=0.5))
    a, b = begun(purse, tmp_path, "a"), begun(purse, tmp_path, "b")
    assert a.reserve(usage(1, 0.4)) == ""
    a.settle(usage(1, 0.4))
    assert a.reserve(usage(1, 0.2)) == "a single question has 0.1 dollars left"
    assert b.reserve(usage(1, 0.2)) == ""


def test_what_the_record_holds_is_not_counted_twice(tmp_path: Path) -> None:
    purse = Purse(scopes=(Scope("the run", usd=1.0),))
    a = begun(purse, tmp_path, "a")
    a.settle(usage(1, 0.4))
    purse.look((Scope("the run", usd=0.6),), settled="a")
    assert begun(purse, tmp_path, "b").reserve(usage(1, 0.6)) == ""
    assert not (tmp_path / "a.tab").exists()


def test_a_tab_says_what_a_later_process_is_to_book(tmp_path: Path) -> None:
    a = begun(Purse(), tmp_path, "a")
    a.settle(usage(10, 0.1))
    a.reserve(usage(100, 1.0))
    (tmp_path / "torn.tab").write_text('{"id": "x"')
    found = dict(read_tabs(tmp_path))
    assert found[tmp_path / "torn.tab"] is None
    left = found[tmp_path / "a.tab"]
    assert left is not None
    assert (amount(left.worst).calls, amount(left.worst).tokens) == (2, 110)
    assert round(left.worst.usd, 9) == 1.1
