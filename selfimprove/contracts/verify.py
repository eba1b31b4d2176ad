"""What a verifier in code says of what agents produce, and what a run's verifications come to."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from selfimprove.contracts.base import Record

VerifyStatus = Literal["pass", "low", "fail"]
VerifyKind = Literal["schema", "rubric", "consistency"]


class VerifyIssue(Record):
    """One thing that is not as it should be."""

    additions: ClassVar[frozenset[str]] = frozenset({"step"})

    kind: VerifyKind
    grade: Literal["low", "fail"]
    message: str
    step: int | None = None
    """The plan's step that it is about; left out where it is about the whole."""


class VerifyResult(Record):
    """The verdicts on one artifact: `fail` where any of them fails, else `low` where any is low."""

    status: VerifyStatus
    score: float = Field(ge=0, le=1)
    """Mean of the three kinds: 1 where nothing is wrong, 0.5 where low, 0 where it fails; of the
    rubric the critics' mean, where they scored."""
    issues: list[VerifyIssue] = Field(default_factory=list)


class VerifyTotals(Record):
    """run.json's `verify`."""

    checked: int = 0
    """Briefs, plans and changes that were verified."""
    passed_first: int = 0
    """Of them, those that passed the first time."""
    first_pass_rate: float = 0.0
    low: int = 0
    failed: int = 0
    """Verifications that ended so, of whatever try."""
    retries: int = 0
    """Verifications of what was made once more."""

    def plus(self, status: VerifyStatus, attempt: int) -> VerifyTotals:
        """These totals with one more verification; `attempt` is 1 for an artifact's first."""
        first = attempt == 1
        checked = self.checked + first
        passed = self.passed_first + (first and status == "pass")
        return VerifyTotals(
            checked=checked,
            passed_first=passed,
            first_pass_rate=round(passed / checked, 4) if checked else 0.0,
            low=self.low + (status == "low"),
            failed=self.failed + (status == "fail"),
            retries=self.retries + (not first),
        )
