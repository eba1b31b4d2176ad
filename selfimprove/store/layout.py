"""Where everything of a run lies, relative to its root `<target>/.selfimprove/<topic>/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The paths of one root."""

    root: Path

    @property
    def settings(self) -> Path:
        """The user's settings.json."""
        return self.root / "config/settings.json"

    @property
    def goal(self) -> Path:
        """The checked copy of goal.md in force."""
        return self.root / "config/goal.md"

    @property
    def harness(self) -> Path:
        """The user's own families and rules."""
        return self.root / "config/harness.md"

    @property
    def ideas(self) -> Path:
        """Ideas queued by the user for the next round."""
        return self.root / "config/idea.md"

    @property
    def journal(self) -> Path:
        """The folder of journal segments."""
        return self.root / "state/journal"

    def segment(self, number: int) -> Path:
        """The journal segment of one round; 0 is the set-up."""
        return self.journal / f"round_{number}.jsonl"

    @property
    def replies(self) -> Path:
        """Agents' kept replies."""
        return self.root / "state/replies"

    @property
    def attempts(self) -> Path:
        """The index of everything tried; can be rebuilt."""
        return self.root / "state/attempts.jsonl"

    @property
    def logs(self) -> Path:
        """Whole outputs of agents and benchmarks."""
        return self.root / "logs"

    @property
    def summary(self) -> Path:
        """What the last stop printed."""
        return self.root / "summary.md"

    @property
    def stop_file(self) -> Path:
        """Its presence asks a running loop to stop at the next safe point."""
        return self.root / "stop"

    @property
    def lock(self) -> Path:
        """Held by the run that writes here."""
        return self.root / "lock"


RAW_DATA = "tracking/raw_data.json"
EVENTS = "tracking/events.json"
ATTEMPTS = "state/attempts.jsonl"
BASELINE = "tracking/baseline.json"
AGENT_SETTINGS = "state/agent-settings.json"
ITERATION_STATE = "state/iteration_state.json"
RUN_REPORT = "state/run.json"


def brief_path(number: int) -> str:
    """Research brief of a round, below the root."""
    return f"state/research_briefs/round_{number}.json"


def plan_path(number: int, planner: str) -> str:
    """A plan while its round runs, below the root."""
    return f"plans/round_{number}/plan_{planner}.json"


def archived_plan_path(number: int, planner: str) -> str:
    """A plan's last version, kept for good, below the root."""
    return f"state/plan_archive/round_{number}/plan_{planner}.json"


def result_path(number: int, executor: str) -> str:
    """An executor's benchmark result, below the root."""
    return f"state/results/round_{number}/{executor}.json"


def merge_report_path(number: int) -> str:
    """A round's merge report, below the root."""
    return f"state/merge_reports/round_{number}.json"


def history_path(number: int) -> str:
    """A round's history record, below the root."""
    return f"state/iteration_history/round_{number}.json"
