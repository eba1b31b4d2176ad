"""Samples that are put to another commit's account are named, even where the chain is mended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfimprove.contracts.benchmark import Binding, Sample
from selfimprove.store.journal import digest, segment_numbers
from selfimprove.store.layout import Layout
from selfimprove.store.rebuild import findings
from selfimprove.testing.rehearsal import Rehearsal

Stage = Callable[..., Rehearsal]
Line = dict[str, Any]
FACTS = {"commit": "c", "tree": "t", "benchmark": "b", "settings": "s", "nonce": "n"}


@pytest.fixture(scope="module")
def played(module_stage: Stage) -> Rehearsal:
    play = module_stage()
    play.run(max_iterations=1)
    assert findings(play.layout) == []
    return play


def forged(played: Rehearsal, folder: Path, edit: Callable[[list[Line]], None]) -> list[str]:
    """What validate finds once the journal was edited and its chain made whole again."""
    root = Layout(folder / "root")
    root.journal.mkdir(parents=True)
    prev = "0" * 64
    for number in segment_numbers(played.layout.journal):
        lines = played.lines(number)
        edit(lines)
        told = []
        for line in lines:
            line["prev"] = prev
            told.append(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode())
            prev = digest(told[-1])
        root.segment(number).write_bytes(b"".join(line + b"\n" for line in told))
    found = findings(root)
    assert not any("chain" in each for each in found)
    return [each for each in found if "measure_" in each or "baseline_" in each or "/conf" in each]


def results(lines: list[Line], tool: str = "benchmark.run") -> list[Line]:
    """The payloads of what was measured."""
    return [
        line["payload"]
        for line in lines
        if line["type"] == "tool_result" and line["payload"]["tool"] == tool
    ]


def test_an_honest_journal_has_a_binding_for_each_sample(played: Rehearsal, tmp_path: Path) -> None:
    told = [each["result"] for n in (0, 1) for each in results(played.lines(n))]
    assert all("bound" in each for each in told if "sample" in each)
    nonces = [each["bound"]["nonce"] for each in told if "sample" in each]
    assert len(set(nonces)) == len(nonces) >= 4
    assert forged(played, tmp_path, lambda _: None) == []


def better(lines: list[Line]) -> None:
    for payload in results(lines):
        if payload["result"].get("executor") == "executor_1":
            payload["result"]["sample"]["score"] = 1.0


def swapped(lines: list[Line]) -> None:
    """Another candidate's result, binding and all."""
    told = {payload["result"].get("executor"): payload["result"] for payload in results(lines)}
    if "executor_2" in told:
        told["executor_1"]["sample"] = told["executor_2"]["sample"]
        told["executor_1"]["bound"] = told["executor_2"]["bound"]


def relabelled(lines: list[Line]) -> None:
    """The same with a binding that was made to fit, but for what only the record knows."""
    for payload in results(lines):
        if payload["result"].get("executor") == "executor_1":
            sample = Sample.parse(payload["result"]["sample"], "sample")
            facts = {k: v for k, v in payload["result"]["bound"].items() if k != "seal"}
            bound = Binding.of(sample, **{**facts, "tree": "1" * 40})
            payload["result"]["bound"] = bound.document()


def elsewhere(lines: list[Line]) -> None:
    for payload in results(lines):
        if payload["result"].get("executor") == "executor_1":
            sample = Sample.parse(payload["result"]["sample"], "sample")
            facts = {k: v for k, v in payload["result"]["bound"].items() if k != "seal"}
            bound = Binding.of(sample, **{**facts, "benchmark": "2" * 64, "settings": "3" * 64})
            payload["result"]["bound"] = bound.document()


def loose(lines: list[Line]) -> None:
    for payload in results(lines):
        if payload["result"].get("executor") == "executor_1":
            del payload["result"]["bound"]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (better, ["sample and binding are not of one measurement"]),
        (swapped, ["its nonce is another", "was to be", "the plan's is"]),
        (relabelled, ["the tree of"]),
        (elsewhere, ["another benchmark", "other settings"]),
        (loose, ["bound to nothing"]),
    ],
)
def test_a_result_of_something_else_is_named(
    played: Rehearsal, tmp_path: Path, edit: Callable[[list[Line]], None], says: list[str]
) -> None:
    found = forged(played, tmp_path, edit)
    for words in says:
        assert any(words in each for each in found), (words, found)


def test_a_journal_from_before_bindings_is_sound(played: Rehearsal, tmp_path: Path) -> None:
    def older(lines: list[Line]) -> None:
        for tool in ("benchmark.run", "benchmark.pair"):
            for payload in results(lines, tool):
                payload["result"].pop("bound", None)

    assert forged(played, tmp_path, older) == []


def test_a_binding_is_of_one_sample() -> None:
    sample = Sample(score=1.5, sub_scores={"a": 2.0}, duration_s=0.1, seed=7)
    bound = Binding.of(sample, **FACTS)
    assert bound.holds(sample)
    assert Binding.parse(bound.document(), "x").holds(sample)
    assert bound.holds(sample.model_copy(update={"duration_s": 9.0})), "time is not the score"
    for change in ({"score": 1.4}, {"sub_scores": {"a": 1.0}}, {"seed": 8}):
        assert not bound.holds(sample.model_copy(update=change))
    assert not bound.model_copy(update={"commit": "d"}).holds(sample)
