"""Canaries: changes whose verdict is known before they are tried.

A benchmark that does not run the candidate, or that believes whatever is printed, would merge
anything. Each canary is a commit of its own, measured like a candidate's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from selfimprove.bench.failures import Failed
from selfimprove.bench.formats import exit_is_score
from selfimprove.bench.measure import Bench, Measured
from selfimprove.bench.metric import is_time
from selfimprove.bench.seeds import seed_for
from selfimprove.bench.stats import median, relative_gain, spread
from selfimprove.contracts.benchmark import Canary, Sample
from selfimprove.deps import Deps
from selfimprove.store.state import Facts
from selfimprove.vcs.index import tree_with

DATE = "2000-01-01T00:00:00Z"
SPOOF_FACTOR = 1000.0
"""How much better than the baseline a spoofed score claims to be."""
LONG_S = 60.0
"""A benchmark that takes longer is tried with the first two at set-up, with the rest by doctor."""
LEAST_S, TIMES = 10.0, 3.0
"""An emptied program that hangs is broken: it is given this, or this many times a usual run."""
HALF = 2.0
"""How much longer a run takes that sleeps for half of the time."""
NOTICED = 0.1
"""By how much half the speed must move a time, where its noise is not larger."""
RUNS, IS_DRAW, IS_TIME = "the benchmark runs the candidate", "a change that does nothing", "a sleep"

REMEDIES = {
    RUNS: "let the command run the files of `In scope`, `provide` the environment that points at "
    "them, or mend the scope",
    IS_DRAW: "let the command give a score each time it is run",
    IS_TIME: "mend `Direction` in the goal, or the command's clock",
}
"""What to do about each that stops a start."""

Edit = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Canaries:
    """Tries known changes on one commit of a run."""

    deps: Deps
    facts: Facts
    """As the baseline's runs left them."""
    samples: tuple[Sample, ...]
    """Runs of the commit."""
    bench: Bench
    """The benchmark with what its baseline told."""
    commit: str

    def all(self) -> Iterator[Canary]:
        """Every canary, cheapest to understand first."""
        yield self.emptied()
        yield self.unchanged()
        if self._is_time():
            yield self.halted()
        yield self.spoofed("a spoofed score line", self._impossible())
        yield self.spoofed("a score of Infinity", "Infinity")

    def at_setup(self) -> dict[str, Callable[[], Canary]]:
        """Those that every set-up tries, within reason, by a name for the record."""
        wanted = {"emptied": self.emptied, "unchanged": self.unchanged}
        if self._is_time() and self._seconds() <= LONG_S:
            wanted["halted"] = self.halted
        return wanted

    def cost(self) -> str:
        """What those at set-up take, in words, before it is spent."""
        runs = 2 + HALF * ("halted" in self.at_setup())
        left = "; `selfimprove doctor --full` tries more" if self._seconds() > LONG_S else ""
        return (
            f"trying the benchmark on {len(self.at_setup())} changes whose verdict is known: "
            f"at most {runs * self._seconds():.1f} s as a rule{left}"
        )

    def logs(self, label: str) -> Path:
        """Where the output of one is kept."""
        return self.deps.workshop.tools.logs / _log(label)

    def emptied(self) -> Canary:
        """All files in scope emptied at once must break the score or move it."""
        slowest = max(LEAST_S, TIMES * self._seconds())
        spec = self.bench.spec
        bench = self.bench.other(replace(spec, timeout=min(spec.timeout or slowest, slowest)))
        paths = self.deps.workshop.editable(self.commit)
        found: Measured | Failed | None = None
        for _ in range(1 if self.facts.deterministic else 2):  # once may be chance
            found = self._measure("emptied", self._commit("emptied", paths, None), bench)
            if isinstance(found, Failed):
                told = f"with every file in scope emptied, {found.analysis.what}"
                return Canary(name=RUNS, grade="ok", text=told)
            if moved := self._moved(found.sample):
                told = f"emptying every file in scope moves {moved}"
                return Canary(name=RUNS, grade="ok", text=told, score=found.sample.score)
        assert isinstance(found, Measured)
        score = found.sample.score
        if self._at_worst():
            told = "cannot be told: as it stands everything fails, and emptied nothing else can"
            return Canary(name=RUNS, grade="note", text=told, score=score)
        return Canary(
            name=RUNS,
            grade="problem",
            text=f"with every file in scope emptied it scores the same ({score:g}): it measures "
            "something else (an installed package? another checkout?)",
            score=score,
        )

    def unchanged(self) -> Canary:
        """The base against itself must be a draw."""
        found = self._measure("unchanged", self.commit, self.bench)
        if isinstance(found, Failed):
            told = f"measured once more, unchanged, it has no score: {found.analysis.what}"
            return Canary(name=IS_DRAW, grade="problem", text=told)
        score, noise = found.sample.score, self._noise()
        apart = abs(relative_gain(self._score(), score, self.facts.direction))
        if self.facts.deterministic and apart:
            runs = len(self.samples)
            told = f"{runs} runs gave one score, this one is {apart:.2%} apart: it is noisy"
            return Canary(name=IS_DRAW, grade="note", text=told, score=score)
        told = f"measured once more, {apart:.2%} apart; the spread was {noise:.2%}"
        return Canary(name=IS_DRAW, grade="ok", text=told, score=score)

    def halted(self) -> Canary:
        """Asleep for half of the time, a program whose score is a time must lose."""
        spec = self.bench.spec
        # asleep it may leave processes behind, or be late: what is asked is its score alone
        slow = replace(spec, halted=True, settled=False, timeout=spec.timeout and 2 * spec.timeout)
        found = self._measure("halted", self.commit, self.bench.other(slow))
        if isinstance(found, Failed):
            told = f"cannot be told: asleep for half of the time, {found.analysis.what}"
            return Canary(name=IS_TIME, grade="note", text=told)
        score = found.sample.score
        gain = relative_gain(self._score(), score, self.facts.direction)
        if abs(gain) <= max(NOTICED, 2 * self._noise()):
            told = (
                "asleep for half of the time it scores the same: that is not time that passes "
                "(CPU time, or the best of short runs)"
            )
            return Canary(name=IS_TIME, grade="note", text=told, score=score)
        if gain > 0:
            told = f"asleep for half of the time it scores {gain:.0%} better: see `Direction`"
            return Canary(name=IS_TIME, grade="problem", text=told, score=score)
        told = f"asleep for half of the time it scores {-gain:.0%} worse"
        return Canary(name=IS_TIME, grade="ok", text=told, score=score)

    def spoofed(self, name: str, value: str) -> Canary:
        """A candidate that prints a score and ends the process, from every Python file in scope."""
        plain = self.deps.config.settings.benchmark_format == "number"
        told = value if plain else f'{{"{self.facts.metric}": {value}}}'
        line = f"\nimport os\nprint({told!r}, flush=True)\nos._exit(0)\n".encode()
        editable = self.deps.workshop.editable(self.commit)
        python = [path for path in editable if path.endswith(".py")]
        if not python:
            return Canary(name=name, grade="note", text="not tried: no Python file is in scope")
        commit = self._commit("spoofed", python, lambda before: before + line)
        found = self._measure("spoofed", commit, self.bench)
        if isinstance(found, Failed):
            return Canary(name=name, grade="ok", text=f"not believed: {found.analysis.what}")
        gain = relative_gain(self._score(), found.sample.score, self.facts.direction)
        if gain > max(0.5, 10 * self._noise()):
            return Canary(
                name=name,
                grade="problem",
                text="believed: let the benchmark run the candidate in a process of its own, and "
                "write its result to {result}",
            )
        return Canary(name=name, grade="ok", text="not believed: it did not reach the score")

    def _moved(self, sample: Sample) -> str:
        """What the sample moved beyond noise, in words; empty where that is nothing."""
        moved = abs(relative_gain(self._score(), sample.score, self.facts.direction))
        if moved > 2 * self._noise():
            return f"the score by {moved:.1%}"
        tests = (each for each in self.facts.tests if each in sample.sub_scores)
        changed = [each for each in tests if sample.sub_scores[each] != self.facts.tests[each]]
        return changed[0] if changed else ""

    def _at_worst(self) -> bool:
        """Whether the commit fails already in all that the benchmark looks at."""
        form, last = self.deps.config.settings.benchmark_format, self.samples[-1]
        if exit_is_score(form):
            return last.score == 0
        lower = self.facts.direction == "lower_is_better"
        worst = self.facts.tests.get("tests", 0.0) if lower else 0.0
        return form == "junit" and last.score == worst

    def _is_time(self) -> bool:
        form = self.deps.config.settings.benchmark_format
        return is_time(self.facts.metric, self.facts.unit, form)

    def _seconds(self) -> float:
        return max(sample.duration_s for sample in self.samples)

    def _score(self) -> float:
        return median([sample.score for sample in self.samples])

    def _noise(self) -> float:
        return spread([sample.score for sample in self.samples])

    def _impossible(self) -> str:
        better = 1 / SPOOF_FACTOR if self.facts.direction == "lower_is_better" else SPOOF_FACTOR
        return repr(abs(self._score() or 1.0) * better)

    def _measure(self, label: str, commit: str, bench: Bench) -> Measured | Failed:
        seed = seed_for(self.deps.config.settings, self.facts.seed_key, 0, 0, "baseline")
        found = bench.measure(commit, _log(label), seed)
        if commit != self.commit:
            self.deps.workshop.tools.layers.drop(commit)
        return found

    def _commit(self, label: str, paths: list[str], edit: Edit | None) -> str:
        """The commit with some files edited; without an edit they are emptied."""
        quarantine = self.deps.workshop.tools.quarantine
        entries = quarantine.entries(self.commit)
        if edit is None:
            made = dict.fromkeys(paths, quarantine.store(b""))
        else:
            before = quarantine.blobs([entries[path].oid for path in paths])
            made = {path: quarantine.store(edit(before[entries[path].oid])) for path in paths}
        added: Mapping[str, tuple[str, str]] = {
            path: (entries[path].mode, oid) for path, oid in made.items()
        }
        tree = tree_with(quarantine, self.commit, [], added)
        return quarantine.commit_tree(tree, [self.commit], f"canary: {label}\n", DATE)


def _log(label: str) -> str:
    return f"round_0/canary_{label}.log"
