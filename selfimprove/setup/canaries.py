"""Canaries: changes whose verdict is known before they are tried.

A benchmark that does not run the candidate, or that believes whatever is printed, would merge
anything. Each canary is a commit of its own, measured like a candidate's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from selfimprove.bench.failures import Failed
from selfimprove.bench.measure import Measured
from selfimprove.bench.seeds import seed_for
from selfimprove.bench.stats import median, relative_gain, spread
from selfimprove.contracts.benchmark import Sample
from selfimprove.deps import Deps
from selfimprove.store.state import Facts
from selfimprove.vcs.index import tree_with

Grade = Literal["ok", "note", "problem"]
DATE = "2000-01-01T00:00:00Z"
SPOOF_FACTOR = 1000.0
"""How much better than the baseline a spoofed score claims to be."""


@dataclass(frozen=True)
class Finding:
    """What a canary told."""

    name: str
    grade: Grade
    text: str


@dataclass(frozen=True)
class Canaries:
    """Tries known changes on the base commit of a run."""

    deps: Deps
    facts: Facts
    samples: tuple[Sample, ...]
    """Runs of the base commit."""

    def all(self) -> Iterator[Finding]:
        """Every canary, cheapest to understand first."""
        yield self.emptied()
        yield self.unchanged()
        yield self.spoofed("a spoofed score line", self._impossible())
        yield self.spoofed("a score of Infinity", "Infinity")

    def emptied(self) -> Finding:
        """All files in scope emptied at once must break the score or move it."""
        name = "the benchmark runs the candidate"
        found = self._measure("emptied", lambda _: b"", self._editable())
        if isinstance(found, Failed):
            return Finding(name, "ok", f"with every file in scope emptied, {found.analysis.what}")
        noise = self._noise()
        moved = abs(relative_gain(self._score(), found.sample.score, self.facts.direction))
        if moved > 2 * noise:
            told = f"emptying every file in scope moves the score by {moved:.1%}"
            return Finding(name, "ok", told)
        opened = [path for path in self._editable() if path in self.facts.opened]
        if opened:
            told = f"emptying every file in scope changes nothing, though {opened[0]} is read"
            return Finding(name, "note", told)
        return Finding(
            name,
            "problem",
            "emptying every file in scope changes nothing: it measures something else "
            "(an installed package? another checkout?): provide that, or mend the command",
        )

    def unchanged(self) -> Finding:
        """The base against itself must be a draw."""
        name = "a change that does nothing"
        noise = self._noise()
        seeded = self._seed()
        found = [
            self.deps.bench.measure(self.facts.base_commit, f"doctor/null_{k}.log", seeded)
            for k in (1, 2)
        ]
        scores = [each.sample.score for each in found if isinstance(each, Measured)]
        if len(scores) < len(found):
            return Finding(name, "problem", "the benchmark failed where it ran before")
        apart = abs(relative_gain(scores[0], scores[1], self.facts.direction))
        if self.facts.deterministic and apart:
            return Finding(name, "note", f"three runs gave one score, these {apart:.2%} apart")
        return Finding(name, "ok", f"measured twice, {apart:.2%} apart; its spread was {noise:.2%}")

    def spoofed(self, name: str, value: str) -> Finding:
        """A candidate that prints a score and ends the process, from every Python file in scope."""
        plain = self.deps.config.settings.benchmark_format == "number"
        told = value if plain else f'{{"{self.facts.metric}": {value}}}'
        line = f"\nimport os\nprint({told!r}, flush=True)\nos._exit(0)\n".encode()
        python = [path for path in self._editable() if path.endswith(".py")]
        if not python:
            return Finding(name, "note", "not tried: no Python file is in scope")
        found = self._measure("spoofed", lambda before: before + line, python)
        if isinstance(found, Failed):
            return Finding(name, "ok", f"not believed: {found.analysis.what}")
        noise = self._noise()
        gain = relative_gain(self._score(), found.sample.score, self.facts.direction)
        if gain > max(0.5, 10 * noise):
            return Finding(
                name,
                "problem",
                "believed: let the benchmark run the candidate in a process of its own, and write "
                "its result to {result}",
            )
        return Finding(name, "ok", "not believed: it did not reach the score")

    def _score(self) -> float:
        return median([sample.score for sample in self.samples])

    def _noise(self) -> float:
        return spread([sample.score for sample in self.samples])

    def _impossible(self) -> str:
        better = 1 / SPOOF_FACTOR if self.facts.direction == "lower_is_better" else SPOOF_FACTOR
        return repr(abs(self._score() or 1.0) * better)

    def _editable(self) -> list[str]:
        return self.deps.workshop.editable(self.facts.base_commit)

    def _seed(self) -> int | None:
        return seed_for(self.deps.config.settings, self.facts.seed_key, 0, 0, "baseline")

    def _measure(
        self, label: str, edit: Callable[[bytes], bytes], paths: list[str]
    ) -> Measured | Failed:
        commit = self._commit(label, edit, paths)
        found = self.deps.bench.measure(commit, f"doctor/{label}.log", self._seed())
        self.deps.workshop.tools.layers.drop(commit)
        return found

    def _commit(self, label: str, edit: Callable[[bytes], bytes], paths: list[str]) -> str:
        quarantine = self.deps.workshop.tools.quarantine
        entries = quarantine.entries(self.facts.base_commit)
        before = quarantine.blobs([entries[path].oid for path in paths])
        added: Mapping[str, tuple[str, str]] = {
            path: (entries[path].mode, quarantine.store(edit(before[entries[path].oid])))
            for path in paths
        }
        tree = tree_with(quarantine, self.facts.base_commit, [], added)
        return quarantine.commit_tree(tree, [self.facts.base_commit], f"canary: {label}\n", DATE)
