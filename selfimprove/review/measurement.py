"""Recognises plans that say they change how the score is made. Conservative, like H001."""

from __future__ import annotations

import re

from selfimprove.contracts.plan import Plan
from selfimprove.review.hypothesis import LOOKED_AT

_VERB = (
    r"(?:chang|edit|modif|adjust|loosen|relax|simplif|rewrit|replac|mock|monkey-?patch|patch|bypass|"
    r"disabl|shorten|skip|remov|alter|tweak|redefin|overrid|stub)(?:e|es|y|ies|ing|ying|ding|ping)?"
)
_FILLER = r"(?:\s+(?:the|our|this|its|of|how|out|number|amount|count|way))*"
_THING = (
    r"(?:benchmarks?(?!['’]s?|\s+(?:time|score|result|run-?time|latency|duration|figure|input))|"
    r"benchmark (?:script|harness|command|loop|iterations|runs)|evaluation (?:script|harness|code|"
    r"method\w*)|scoring|score (?:calculation|computation|function)|test harness|"
    r"measurements?\b(?!\s+of))"
)
_CHANGES = re.compile(rf"\b{_VERB}{_FILLER}\s+{_THING}\b", re.I)
_HOW = re.compile(
    r"\bhow\s+(?:we\s+(?:measure|score|benchmark)|(?:it|the\s+(?:score|metric|result|time))\s+is\s+"
    r"(?:measured|scored|computed|calculated|made))\b",
    re.I,
)
_FEWER = re.compile(
    r"\b(?:reduc|lower|cut)\w*\s+(?:the\s+)?(?:number|amount|count)\s+of\s+(?:the\s+)?benchmark\b",
    re.I,
)


def changes_measurement(plan: Plan) -> str:
    """Give the words by which a plan says that it changes the measurement; empty if none."""
    for text in (plan.hypothesis, *(step.change for step in plan.steps)):
        for pattern in (_CHANGES, _HOW, _FEWER):
            if found := pattern.search(text[:LOOKED_AT]):
                return found[0]
    return ""
