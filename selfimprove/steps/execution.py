"""Step 4: executors carry the approved plans out, each on its own; then each is measured.

In between, where that is wanted, critics look at what each of them changed.
"""

from __future__ import annotations

from selfimprove.contracts.envelope import control
from selfimprove.deps import Deps
from selfimprove.steps.base import Drafts, round_of, topic
from selfimprove.steps.budget import round_over
from selfimprove.steps.change_review import owed, review_changes
from selfimprove.steps.editing import edit_all
from selfimprove.steps.screening import screen_all
from selfimprove.store.state import State


def run(state: State, deps: Deps) -> Drafts:
    """Edit in parallel, then measure one at a time, when every agent of the round has ended."""
    if not round_of(state).executors:
        approved = round_of(state).approved()
        if not approved:
            return
        named = {name: plan.plan_id for name, plan in approved.items()}
        state = yield control(topic(state, "execution"), "executors_named", executors=named)
    state = yield from edit_all(state, deps)
    while owed(state, deps.config.settings) and not round_over(state, deps):
        state = yield from review_changes(state, deps)
        state = yield from edit_all(state, deps)
    yield from screen_all(state, deps)
