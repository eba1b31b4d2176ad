"""JUnit XML (`pytest --junit-xml={result}` and the like): counts of tests, and their time.

The counts are made from the test cases themselves; a suite's own attributes are not believed.
"""

from __future__ import annotations

from xml.etree import ElementTree

from selfimprove.bench.strict import ScoreError, number


def read(report: bytes) -> dict[str, float]:
    """`tests`, `passed`, `failures`, `errors`, `skipped` and `time` in seconds."""
    start = report.find(b"<")
    if b"<!DOCTYPE" in report or b"<!ENTITY" in report:
        raise ScoreError("not a JUnit report", "it declares entities")
    try:
        root = ElementTree.fromstring(report[max(start, 0) :])
    except ElementTree.ParseError as error:
        raise ScoreError("not a JUnit report", str(error)) from None
    cases = list(root.iter("testcase"))
    if not cases:
        raise ScoreError("the JUnit report is empty", "no test was run")
    failures = sum(case.find("failure") is not None for case in cases)
    errors = sum(case.find("error") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    passed = sum(
        not {"failure", "error", "skipped"} & {part.tag for part in case} for case in cases
    )
    return {
        "tests": float(len(cases)),
        "passed": float(passed),
        "failures": float(failures),
        "errors": float(errors),
        "skipped": float(skipped),
        "time": sum(number(case.get("time") or "0") for case in cases),
    }
