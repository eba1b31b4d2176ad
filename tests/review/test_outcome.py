"""Critique, quality and advice: what is made of the verdicts."""

from __future__ import annotations

from selfimprove.contracts.critique import CriticReply
from selfimprove.contracts.plan import ArchitectReview
from selfimprove.review import checklist, critique
from selfimprove.review.quality import Terms, quality_report
from selfimprove.review.rules import review_plan

from .samples import context, plan


def replies(*scores: float) -> list[CriticReply]:
    return [CriticReply(score=score, issues=["vague", f"at {score}"]) for score in scores]


def test_verdicts_are_written_into_the_plan() -> None:
    bad = plan(hypothesis="1. cache\n2. batch", target="lib/x.py")
    verdicts = review_plan(bad, context(recent_winners=("optimization", "optimization")))
    done = critique.reviewed(bad, verdicts)
    assert done.critic_review is not None
    assert done.critic_review.document() | {"rejection_reason": ""} == {
        "h001_hypothesis_count": "fail",
        "h002_family_streak": "fail",
        "h003_intra_round_diversity": "pass",
        "schema_valid": "pass",
        "history_aware": "pass",
        "verdict": "rejected",
        "rejection_reason": "",
    }
    reason = done.critic_review.rejection_reason or ""
    for code in ("several_hypotheses", "family_streak", "out_of_scope"):
        assert code in reason
    assert not done.critic_approved
    good = critique.reviewed(plan(), review_plan(plan(), context()))
    assert good.critic_approved
    assert good.critic_review is not None
    assert good.critic_review.rejection_reason is None


def test_the_panel_s_mean_decides() -> None:
    assert critique.panel_verdict(replies(0.9, 0.9, 0.9), 3, 0.9).passed
    assert critique.panel_verdict(replies(1.0, 0.8), 2, 0.9).passed
    low = critique.panel_verdict(replies(1.0, 0.7), 2, 0.9)
    assert (low.passed, low.code) == (False, "low_score")
    assert "vague; at 1.0; at 0.7" in low.remedy


def test_a_missing_critic_is_a_rejection_and_none_wanted_is_not() -> None:
    assert critique.panel_verdict(replies(1.0), 2, 0.9).code == "critic_missing"
    assert critique.panel_verdict([], 1, 0.0).code == "critic_missing"
    assert critique.panel_verdict([], 0, 0.9).passed


def test_a_malformed_critique_is_zero_and_one_issue() -> None:
    told = critique.malformed("score: Field required")
    assert (told.score, len(told.issues)) == (0.0, 1)


def test_the_architect_advises_and_code_proves() -> None:
    verdicts = review_plan(plan(), context())
    against = ArchitectReview(verdict="reject", structural_concerns=["too clever"])
    advised = critique.architect_review(against, verdicts, ["right-sized: much"])
    assert advised.structural_concerns == ["too clever", "right-sized: much"]
    assert critique.reviewed(plan(), verdicts, advised).critic_approved
    sealed = review_plan(plan(target="bench.py"), context())
    assert critique.architect_review(None, sealed, []).verdict == "reject"


def test_feedback_says_what_would_mend_it() -> None:
    told = critique.feedback(review_plan(plan(target="lib/x.py"), context()), replies(0.5))
    assert told["refusals"][0]["code"] == "out_of_scope"
    assert told["issues"] == ["vague", "at 0.5"]
    assert told["score"] == 0.5


def test_quality_report_counts_by_code_and_refines() -> None:
    facts = context(recent_winners=("optimization", "optimization"))
    plans = [plan("planner_a"), plan("planner_b", target="lib/x.py"), plan(approach_family="data")]
    reviewed = [(p, review_plan(p, facts)) for p in plans]
    report = quality_report(reviewed, Terms(0.5, files=["src/a.py"]))
    assert (report.total, report.verified, report.rejected) == (3, 1, 2)
    assert report.rejection_breakdown == {"family_streak": 2, "out_of_scope": 1}
    assert not report.meets_threshold
    refinement = report.suggested_refinement
    assert refinement is not None
    assert refinement.families_to_avoid == ["optimization"]
    assert refinement.files_in_scope == ["src/a.py"]
    assert "family_streak (2 plans)" in refinement.reason
    assert quality_report(reviewed, Terms(0.3)).meets_threshold
    assert quality_report(reviewed, Terms(0.3)).suggested_refinement is None


def test_no_plan_at_all_is_below_any_threshold() -> None:
    report = quality_report([], Terms(0.0))
    assert (report.quality_score, report.meets_threshold) == (0.0, False)
    assert report.suggested_refinement is not None


def test_advice_names_what_looks_wrong_and_refuses_nothing() -> None:
    vague = plan(
        target="src/new.py",
        steps=[{"step": 1, "file": "src/new.py", "change": "optimize the parser"}],
        expected_outcome={"metric": "speed", "estimated_impact": "90%", "rationale": "hope"},
    )
    facts = context(metrics=frozenset({"score"}), best_gain=0.03)
    said = checklist.advice(vague, facts)
    assert [line.partition(":")[0] for line in said] == [
        "testable",
        "targets",
        "clear",
        "realistic",
    ]
    assert all(verdict.passed for verdict in review_plan(vague, facts))
    assert checklist.advice(plan(), context(metrics=frozenset({"score"}), best_gain=0.05)) == []


def test_likeness_to_a_loser_is_advice() -> None:
    def changing(number: int) -> list[dict[str, object]]:
        change = f"in the hot loop of scan() set LIMIT from 5 to {number} and keep the rest"
        return [{"step": 1, "file": "src/a.py", "change": change}]

    lost = plan(number=2, steps=changing(10))
    alike = plan(number=4, steps=changing(11))
    assert checklist.advice(alike, context(), [lost]) == [
        "novel: much like round_2_planner_a, which did not win"
    ]
