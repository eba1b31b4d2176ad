"""The loop: run the next step, append what it yields, fold again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from selfimprove.contracts.agent import RunStatus
from selfimprove.contracts.envelope import Draft, Envelope, control
from selfimprove.contracts.iteration import StepName
from selfimprove.deps import Deps
from selfimprove.errors import Stopped
from selfimprove.redaction import Redactor
from selfimprove.steps import (
    critic_review,
    execution,
    planning,
    recording,
    research,
    stop_check,
    tournament,
)
from selfimprove.steps.base import EndRun, Step, round_of, topic
from selfimprove.store.fold import fold_one
from selfimprove.store.journal import Journal
from selfimprove.store.state import State
from selfimprove.store.writer import Writer

STEPS: dict[StepName, Step] = {
    "research": research.run,
    "planning": planning.run,
    "critic_review": critic_review.run,
    "execution": execution.run,
    "tournament": tournament.run,
    "recording": recording.run,
    "stop_check": stop_check.run,
}

Observer = Callable[[Envelope, State], None]

EXIT_CODES: dict[RunStatus, int] = {
    "circuit_breaker": 4,
    "failed": 1,
    "waiting": 1,
    "user_stopped": 130,
}
"""The run's exit code by the status it ends with; 0 for every other."""


@dataclass
class Run:
    """A root held by this process: the journal, its fold, and the documents."""

    state: State
    journal: Journal
    writer: Writer
    observers: Sequence[Observer] = field(default=())
    redactor: Redactor | None = None
    """Takes secrets out of every message before it is written anywhere."""

    def append(self, draft: Draft) -> State:
        """Journal one message, fold it, write what it changed, and tell who watches."""
        if self.redactor is not None:
            clean = self.redactor.document(draft.payload)
            draft = draft if clean is draft.payload else draft.model_copy(update={"payload": clean})
        envelope = self.journal.append(draft)
        self.state = fold_one(self.state, envelope)
        self.writer.update(self.state, envelope)
        for observer in self.observers:
            observer(envelope, self.state)
        return self.state

    def close_segment(self, draft: Draft) -> State:
        """Append a checkpoint: a control that holds the state as it is once it is folded."""
        after = fold_one(self.state, self.journal.preview(draft))
        holding = {**draft.payload, "state": after.document()}
        return self.append(draft.model_copy(update={"payload": holding}))

    def drive(self, step: Generator[Draft, State, object]) -> State:
        """Append everything a step yields, sending the new state back to it."""
        draft = next(step, None)
        while draft is not None:
            state = self.append(draft)
            try:
                draft = step.send(state)
            except StopIteration:
                break
        return self.state


def until_stopped(run: Run, deps: Deps) -> State:
    """Run rounds until a stop condition holds, a person stops it, or time is over.

    The run's gain is measured at each stop but a person's, who does not wait: at the next one then.
    """
    try:
        try:
            while run.state.status == "running":
                deps.stop.raise_if_set()
                _one_step(run, deps)
        except EndRun as end:
            if end.status != "failed":
                run.drive(stop_check.measure_final(run.state, deps))
            run.drive(stop_check.look_outside(run.state, deps))
            _stop(run, end.status, end.reason)
    except (Stopped, KeyboardInterrupt):
        run.drive(stop_check.look_outside(run.state, deps))
        _stop(run, "user_stopped", "stopped by a person")
    return run.state


def _one_step(run: Run, deps: Deps) -> None:
    if run.state.round is None or run.state.round.status == "completed":
        if run.state.round is not None and run.journal.is_open_for(run.state.round.number):
            _end_round_late(run, deps)
            return
        stop = stop_check.why_stop(run.state, deps.config.settings, deps.deadline)
        if stop is not None:
            raise EndRun(*stop)
        number = run.state.number + 1
        run.append(control(f"round_{number}", "round_started", round=number))
    step = round_of(run.state).step
    run.append(control(topic(run.state, step), "step_started", step=step))
    run.drive(STEPS[step](run.state, deps))
    if round_of(run.state).step != step:
        return  # the step itself sent the round elsewhere: planning again
    run.append(control(topic(run.state, step), "step_completed", step=step))
    if step == "stop_check":
        _end_round(run)


def _end_round(run: Run) -> None:
    """Close the round's segment, as a checkpoint or as the run's end."""
    current = round_of(run.state)
    about = f"round_{current.number}"
    if current.decision == "go_on":
        run.close_segment(control(about, "checkpoint"))
    else:
        run.close_segment(stopped(run.state, current.decision, current.reason))  # type: ignore[arg-type]


def _end_round_late(run: Run, deps: Deps) -> None:
    """Close the segment of a round whose process died after its last line, before its checkpoint.

    The limit that ended the run may have been raised since.
    """
    if stop_check.why_stop(run.state, deps.config.settings, deps.deadline) is not None:
        _end_round(run)
    else:
        run.close_segment(control(f"round_{round_of(run.state).number}", "checkpoint"))


def _stop(run: Run, status: RunStatus, reason: str) -> None:
    """End in the middle of a round, or between two: the segment stays open for what follows."""
    run.append(stopped(run.state, status, reason))


def stopped(state: State, status: RunStatus, reason: str) -> Draft:
    """The message that a process lets the run go."""
    assert state.settings is not None
    assert state.facts is not None
    return control(
        "run",
        "stopped",
        status=status,
        reason=reason,
        exit_code=EXIT_CODES.get(status, 0),
        wins=state.wins_total,
        before=state.settings.baseline_score,
        after=state.settings.best_score,
        branch=state.facts.improve_ref.removeprefix("refs/heads/"),
    )
