"""The rules of review in code: each a pure function from a plan and its round to a verdict.

Every refusal has a reason code, what is wrong, and what would mend it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from difflib import get_close_matches

from selfimprove.contracts.critique import RuleVerdict
from selfimprove.contracts.plan import Plan
from selfimprove.review.context import ReviewContext, plan_key
from selfimprove.review.families import allowed_families, streaking
from selfimprove.review.hypothesis import LOOKED_AT, count_hypotheses
from selfimprove.review.measurement import changes_measurement
from selfimprove.review.own_rules import broken

Rule = Callable[[Plan, ReviewContext], RuleVerdict]

MAX_CHANGE = 20_000
MAX_PLAN = 512 << 10
"""Characters of a whole plan as JSON."""
MAX_FILES, MAX_STEPS = 100, 200
MAX_PATH = 1000
_DOCUMENTATION = (".md", ".rst", ".txt", ".adoc", ".tex", ".html", ".ipynb")


def passed(rule: str) -> RuleVerdict:
    """Give the verdict of a rule that has nothing against a plan."""
    return RuleVerdict(rule=rule, passed=True)


def refused(rule: str, code: str, message: str, remedy: str) -> RuleVerdict:
    """Give the verdict of a rule that refuses a plan."""
    return RuleVerdict(rule=rule, passed=False, code=code, message=message, remedy=remedy)


def h001_one_hypothesis(plan: Plan, _context: ReviewContext) -> RuleVerdict:
    """H001: exactly one hypothesis."""
    count = count_hypotheses(plan.hypothesis)
    if count == 0:
        return refused(
            "h001",
            "no_hypothesis",
            "the plan has no hypothesis",
            "write one sentence: doing X should improve Y because Z",
        )
    if count > 1:
        return refused(
            "h001",
            "several_hypotheses",
            f"the plan holds {count} hypotheses: their effects could not be told apart",
            "keep the one with the most evidence and leave the others to later rounds",
        )
    return passed("h001")


def h002_family_streak(plan: Plan, context: ReviewContext) -> RuleVerdict:
    """H002: not the family that won the last rounds, up to one less than the limit."""
    family = plan.approach_family
    if family != streaking(context.recent_winners, context.streak_limit):
        return passed("h002")
    allowed = allowed_families(context.taxonomy, context.recent_winners, context.streak_limit)
    if family in allowed:  # it is the only one there is
        return passed("h002")
    return refused(
        "h002",
        "family_streak",
        f"{family!r} won the last {context.streak_limit - 1} rounds",
        f"choose another family: {', '.join(allowed)}",
    )


def h003_diversity(plan: Plan, context: ReviewContext) -> RuleVerdict:
    """H003: not the family of an earlier plan of this round; where narrowed, not its files."""
    targets = set(plan.target_files)
    for other in context.earlier:
        if other.approach_family != plan.approach_family:
            continue
        shared = targets & set(other.target_files)
        if plan.approach_family in context.narrowed and not shared:
            continue
        where = f" on {', '.join(sorted(shared)[:3])}" if shared else ""
        return refused(
            "h003",
            "same_family",
            f"{other.planner_id} already has a plan of {plan.approach_family!r}{where} this round",
            "choose one of the families, or the files, that were assigned to this planner",
        )
    return passed("h003")


def schema(plan: Plan, context: ReviewContext) -> RuleVerdict:
    """Check what the data contract means and a field's type cannot say."""
    if plan.approach_family not in context.taxonomy:
        near = get_close_matches(plan.approach_family[:60], context.taxonomy, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return refused(
            "schema",
            "unknown_family",
            f"no approach family {plan.approach_family[:60]!r}",
            f"{hint}known: {', '.join(context.taxonomy)}",
        )
    if too_long := _too_long(plan):
        return refused("schema", "too_long", too_long, "say it shorter, or plan less")
    for path in [*plan.target_files, *(step.file for step in plan.steps)]:
        if wrong := bad_path(path):
            return refused(
                "schema",
                "bad_path",
                f"{path[:200]!r} {wrong}",
                "write paths inside the repository, from its root, such as 'src/cache.py'",
            )
    strays = sorted({step.file for step in plan.steps} - set(plan.target_files))
    if strays:
        return refused(
            "schema",
            "step_outside_targets",
            f"a step changes {strays[0]!r}, which target_files does not list",
            "list every file that a step changes in target_files",
        )
    return passed("schema")


def _too_long(plan: Plan) -> str:
    longest = max(len(step.change) for step in plan.steps)
    if len(plan.hypothesis) > LOOKED_AT:
        return f"the hypothesis has {len(plan.hypothesis)} characters, {LOOKED_AT} are allowed"
    if longest > MAX_CHANGE:
        return f"a step's change has {longest} characters, {MAX_CHANGE} are allowed"
    if len(plan.target_files) > MAX_FILES:
        return f"the plan has {len(plan.target_files)} target files, {MAX_FILES} are allowed"
    if len(plan.steps) > MAX_STEPS:
        return f"the plan has {len(plan.steps)} steps, {MAX_STEPS} are allowed"
    if (size := len(plan.model_dump_json())) > MAX_PLAN:
        return f"the plan has {size} characters, {MAX_PLAN} are allowed"
    return ""


def bad_path(path: str) -> str:
    """Say what is wrong with a path that no file of the repository can have; empty if nothing."""
    if not path.strip() or len(path) > MAX_PATH:
        return "is no path"
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", path):
        return "is absolute"
    parts = path.split("/")
    if ".." in parts:
        return "leads out of its folder"
    if any(ord(char) < 32 or ord(char) == 127 for char in path) or "\\" in path:
        return "holds a control character or a backslash"
    if any(part.casefold() == ".git" for part in parts):
        return "lies in git's own folder"
    if posixpath.normpath(path) != path:
        return f"should be written {posixpath.normpath(path)!r}"
    return ""


def scope(plan: Plan, context: ReviewContext) -> RuleVerdict:
    """Check that target files exist or are new inside the scope, not sealed and not hidden."""
    tree = context.tree
    remedy = "choose target files inside the scope of goal.md that are not sealed"
    for path in plan.target_files:
        if tree.hidden(path):  # said as for any path outside: the planner learns nothing
            return refused("scope", "hidden_target", f"{path!r} is outside the scope", remedy)
        if tree.sealed(path):
            return refused("scope", "sealed_target", f"{path!r} is sealed", remedy)
        if not tree.in_scope(path):
            return refused("scope", "out_of_scope", f"{path!r} is outside the scope", remedy)
        if path not in tree.existing and any(p.startswith(f"{path}/") for p in tree.existing):
            return refused(
                "scope", "folder_target", f"{path!r} is a folder", "name the files in it"
            )
    return passed("scope")


def measurement(plan: Plan, context: ReviewContext) -> RuleVerdict:
    """Refuse a plan that changes how the score is made instead of what is measured."""
    made_by = [path for path in plan.target_files if context.tree.measures(path)]
    said = "" if made_by else changes_measurement(plan)
    if not made_by and not said:
        return passed("measurement")
    what = f"{made_by[0]!r} makes the score" if made_by else f"it says {said!r}"
    return refused(
        "measurement",
        "changes_measurement",
        f"the plan changes how the score is made: {what}",
        "improve what is measured; a person may change the benchmark, and then measure anew",
    )


def documentation(plan: Plan, context: ReviewContext) -> RuleVerdict:
    """Allow the family `documentation` where documentation is in scope and is what changes."""
    if plan.approach_family != "documentation":
        return passed("documentation")
    if not context.documentation:
        return refused(
            "documentation",
            "documentation_out_of_scope",
            "documentation is not in scope",
            "choose another family",
        )
    if not any(is_documentation(path) for path in plan.target_files):
        return refused(
            "documentation",
            "not_documentation",
            f"{plan.target_files[0]!r} is no documentation",
            "name the family that fits what the plan changes",
        )
    return passed("documentation")


def is_documentation(path: str) -> bool:
    """Whether a path is documentation by its name."""
    return path.casefold().endswith(_DOCUMENTATION) or path.casefold().startswith(("docs/", "doc/"))


def history(plan: Plan, context: ReviewContext) -> RuleVerdict:
    """Refuse an exact repeat of a recorded loser that the plan does not own up to."""
    repeated = context.losers.get(plan_key(plan), ())
    if not repeated or any(names(plan.history_reference.avoids, loser) for loser in repeated):
        return passed("history")
    return refused(
        "history",
        "repeated_failure",
        f"the plan repeats {repeated[-1]}, which did not win",
        f"change what it does, or name {repeated[-1]} in history_reference.avoids and say what "
        "is different now",
    )


def names(text: str, plan_id: str) -> bool:
    """Whether a text names a plan; `round_1_planner_a` is not named by `round_1_planner_ab`."""
    return re.search(rf"(?<!\w){re.escape(plan_id)}(?!\w)", text) is not None


def own(plan: Plan, context: ReviewContext) -> RuleVerdict:
    """Keep the project's own rules, as far as they are expressions."""
    if told := broken(context.own_rules, plan):
        return refused(
            "own", "own_rule", f"a rule of harness.md is broken: {told}", "plan within that rule"
        )
    return passed("own")


RULES: tuple[Rule, ...] = (
    h001_one_hypothesis,
    h002_family_streak,
    h003_diversity,
    schema,
    scope,
    measurement,
    documentation,
    history,
    own,
)


def review_plan(plan: Plan, context: ReviewContext) -> tuple[RuleVerdict, ...]:
    """Hold a plan against every rule."""
    return tuple(rule(plan, context) for rule in RULES)


def beyond_plan(plan: Plan, changed: list[str]) -> RuleVerdict:
    """Refuse a candidate that changed files its plan does not list."""
    strays = sorted(set(changed) - set(plan.target_files))
    if not strays:
        return passed("plan")
    return refused(
        "plan",
        "beyond_plan",
        f"{strays[0]!r} was changed, which the plan does not list ({len(strays)} in all)",
        "change the plan's target files alone",
    )
