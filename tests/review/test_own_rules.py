"""Rules of harness.md: expressions are enforced, words are not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from selfimprove.review.own_rules import SAMPLE, broken, enforced, plan_facts
from selfimprove.review.rules import own

from .samples import context, plan

WORDS = (
    "Keep the public names of orders/api.py.",
    "Latency < 5 ms on the slow path, please",
    "one change a plan, and nothing in vendor/",
    "latency_ms < 5",
    "files +",
    "files",
    "'architecture'",
)


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("files <= 1", True),
        ("files >= 2", False),
        ("`steps == 1 && family != 'architecture'`", True),
        ("family in ['data', 'optimization']", False),
        ("'src/a.py' in target_files", True),
        ("target_files.exists(path, path.startsWith('src/'))", True),
        ("!target_files.exists(path, path.endsWith('a.py'))", False),
        ("confidence > 0.4", True),
        ("expected >= 10", False),
    ],
)
def test_an_expression_is_kept_or_broken(rule: str, kept: bool) -> None:
    told = {"metric": "cost", "estimated_impact": "5% less", "rationale": "because"}
    subject = plan(approach_family="other", confidence=0.5, expected_outcome=told)
    rules = enforced([*WORDS, rule])
    assert rules == (rule.strip("`"),)
    assert (broken(rules, subject) == "") is kept
    verdict = own(subject, context(own_rules=rules))
    assert verdict.passed is kept
    assert kept or verdict.code == "own_rule"


def test_what_a_plan_does_not_say_breaks_a_rule_about_it() -> None:
    assert broken(enforced(["confidence >= 0.5"]), plan()) == (
        "confidence >= 0.5 (the plan does not say)"
    )
    assert broken(enforced(["files >= 2"]), plan()) == "files >= 2 (files is 1)"


def test_words_are_not_enforced_and_cost_nothing() -> None:
    assert enforced(WORDS) == ()
    script = f"""
import sys
from selfimprove.review.own_rules import enforced
enforced({[WORDS[0], WORDS[2]]!r})
sys.exit("celpy" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_plan_that_says_everything_is_known_by_the_names_of_the_sample() -> None:
    told = {"metric": "cost", "estimated_impact": "5% less", "rationale": "because"}
    assert plan_facts(plan(confidence=0.5, expected_outcome=told)).keys() == SAMPLE.keys()
