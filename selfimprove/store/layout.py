"""Where everything of a run lies, relative to its root `<target>/.selfimprove/<topic>/`."""

from __future__ import annotations

from collections.abc import Iterator
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
CHART = "tracking/progress.png"
PICTURE = "tracking/progress.svg"


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


def round_files(root: Layout, number: int) -> Iterator[Path]:
    """Where a round's own files are, or would be; kept replies are named by its journal alone."""
    yield root.segment(number)
    for path in (brief_path(number), merge_report_path(number), history_path(number)):
        yield root.root / path
    for folder in ("plans", "state/plan_archive", "state/results"):
        yield from sorted((root.root / folder / f"round_{number}").glob("*.json"))


def single_files(root: Layout) -> Iterator[Path]:
    """Where the documents that a run has one of are, or would be."""
    for path in (AGENT_SETTINGS, ITERATION_STATE, RUN_REPORT, BASELINE, EVENTS, RAW_DATA):
        yield root.root / path
    for path in (CHART, PICTURE):
        yield root.root / path
    yield root.summary
    yield from (root.settings, root.goal, root.harness, root.ideas)


def folders_of_record(root: Layout, number: int) -> Iterator[Path]:
    """Where a run that is in this round writes documents; people write to none of them."""
    yield root.root / "tracking"
    yield root.root / "state"
    if (root.root / "state").is_dir():
        yield from (folder for folder in (root.root / "state").iterdir() if folder.is_dir())
    for folder in ("plans", "state/plan_archive", "state/results"):
        yield root.root / folder / f"round_{number}"
