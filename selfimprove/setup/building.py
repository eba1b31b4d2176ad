"""A benchmark built by an agent: written in its own tree, tried, and sent back with figures."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selfimprove.agents.base import AgentFailure
from selfimprove.agents.replies import KeptReply
from selfimprove.bench.stats import spread
from selfimprove.contracts.agent import AgentRole
from selfimprove.contracts.setup import BuilderReply
from selfimprove.errors import ConfigError
from selfimprove.places import FOLDER
from selfimprove.setup.asking import Asker, question_to
from selfimprove.setup.begin import base_runs
from selfimprove.setup.canaries import REMEDIES, Canaries
from selfimprove.setup.checks import check_editable, check_tools
from selfimprove.setup.draft import Draft, said
from selfimprove.setup.studio import Stage, Studio
from selfimprove.store.state import State
from selfimprove.vcs.changes import Change
from selfimprove.vcs.compare import changes_between
from selfimprove.vcs.content import content_violations
from selfimprove.vcs.names import readable
from selfimprove.vcs.scope import Scope
from selfimprove.wiring import settled_bench

ROLE: AgentRole = "benchmark-builder"
ATTEMPTS = 3
"""At most so often it is asked: once to build, then to mend."""
MOST_SPREAD = 0.05
DATE = "2000-01-01T00:00:00Z"
PLAIN = ("100644", "100755")


class UnfitError(Exception):
    """Why a benchmark will not do, in words for whoever wrote it."""


@dataclass(frozen=True)
class Built:
    """A benchmark that held, in a commit that the target knows nothing of."""

    draft: Draft
    """The goal with it."""
    files: dict[str, tuple[bytes, bool]]
    """What was written: path from the top -> content, and whether it is a program."""
    patch: str
    scores: tuple[float, ...]
    reply: BuilderReply


@dataclass(frozen=True)
class Builder:
    """Asks for a benchmark until one holds."""

    studio: Studio
    say: Callable[[str], None]
    found: Sequence[dict[str, str]] = ()

    def run(self, draft: Draft) -> Built:
        """A benchmark for this goal; raises ConfigError where none held."""
        feedback: list[str] = []
        previous = ""
        for attempt in range(1, ATTEMPTS + 1):
            stage = self.studio.stage(draft)
            check_editable(stage.site, stage.deps, State(facts=stage.facts))
            try:
                kept = self._asked(stage, draft, feedback, previous)
            except AgentFailure as failure:
                raise ConfigError(
                    f"{ROLE} gave no benchmark: {failure}", "choose another agent, or --command CMD"
                ) from None
            reply = BuilderReply.parse(kept.reply.output, f"the answer of {ROLE}")
            try:
                return self._tried(stage, draft, kept, reply)
            except UnfitError as unfit:
                self.say(f"benchmark {attempt} of at most {ATTEMPTS} will not do: {unfit}")
                feedback.append(str(unfit))
                previous = kept.commit
        raise ConfigError(
            f"{ROLE}: no benchmark held in {ATTEMPTS} attempts; the last: {feedback[-1]}",
            "choose another agent, or write one and name it with --command CMD",
        )

    def _asked(self, stage: Stage, draft: Draft, feedback: list[str], previous: str) -> KeptReply:
        workshop, base = stage.deps.workshop, stage.facts.base_commit
        context: dict[str, Any] = {
            "goal": said(draft),
            "found": list(self.found),
            "rules": list(stage.deps.harness.rules),
            "feedback": list(feedback),
        }
        question = question_to(ROLE, f"attempt_{len(feedback) + 1}", context)
        ask = Asker(stage.deps, self.say)
        return ask(question, lambda agent: workshop.editor(agent, base, previous, DATE))

    def _tried(self, stage: Stage, draft: Draft, kept: KeptReply, reply: BuilderReply) -> Built:
        """What was built, once it was looked at and measured; raises UnfitError."""
        quarantine = stage.deps.workshop.tools.quarantine
        base = stage.facts.base_commit
        changes = changes_between(quarantine, base, kept.commit)
        contents = quarantine.blobs([change.oid for change in changes if change.oid])
        for wrong in self._wrong(stage, changes, kept, contents):
            raise UnfitError(wrong)
        prefix = stage.site.target.prefix
        written = [change.path.removeprefix(prefix) for change in changes]
        there = quarantine.entries(base)
        scope = Scope.of(stage.site.goal.scope, prefix)
        also = {path: posixpath.normpath(prefix + path) for path in reply.sealed}
        named = [path for path, at in also.items() if at in there and not scope.matches(at)]
        built = replace(
            draft,
            command=reply.command,
            format=reply.format,
            metric=draft.metric or reply.metric,
            direction=draft.direction or reply.direction,
            sealed=tuple(dict.fromkeys((*draft.sealed, *written, *named))),
        )
        files = {c.path: (contents[c.oid], c.mode == PLAIN[1]) for c in changes}
        scores = self._measured(built, kept.commit, sorted(files))
        patch = quarantine.diff(base, kept.commit)
        return Built(built, files, patch, scores, reply)

    def _wrong(
        self,
        stage: Stage,
        changes: Sequence[Change],
        kept: KeptReply,
        contents: dict[str, bytes],
    ) -> Iterator[str]:
        """What is wrong with the files themselves."""
        target, tools = stage.site.target, stage.deps.workshop.tools
        scope = Scope.of(stage.site.goal.scope, target.prefix)
        yield from kept.odd.values()
        for change in changes:
            path = readable(change.path)
            if change.kind != "added":
                yield f"{path} was there before: leave it as it is, and write new files alone"
            elif change.mode not in PLAIN:
                yield f"{path} is no plain file"
            elif not change.path.startswith(target.prefix):
                yield f"{path} lies outside {target.prefix}: write below it"
            elif change.path.startswith(f"{FOLDER}/") or path.lower().endswith("goal.md"):
                yield f"{path} is not yours to write"
            elif scope.matches(change.path):
                yield f"{path} is in scope: whoever is judged by it could change it"
            elif _taken(target.top / change.path, contents[change.oid]):
                yield f"{path} is there already, uncommitted: write it elsewhere"
        for each in content_violations(tools.quarantine, changes, scope, tools.redactor):
            yield each.message

    def _measured(self, draft: Draft, commit: str, files: list[str]) -> tuple[float, ...]:
        """Three scores that agree, of a benchmark that tells the code it measures from none."""
        try:
            stage = self.studio.stage(draft, commit, files)
            deps, state = stage.deps, State(facts=stage.facts)
            check_editable(stage.site, deps, state)
            check_tools(stage.site, deps, state)
            samples, settled = base_runs(deps, stage.facts)
        except ConfigError as error:
            raise UnfitError(str(error)) from None
        scores = tuple(sample.score for sample in samples)
        apart, told = spread(scores), ", ".join(f"{score:g}" for score in scores)
        if apart >= MOST_SPREAD:
            raise UnfitError(
                f"three runs gave {told}: a spread of {apart:.1%}, and it must be under "
                f"{MOST_SPREAD:.0%}"
            )
        self.say(f"three runs gave {told}: a spread of {apart:.2%}")
        bench = settled_bench(stage.site, deps, settled)
        canaries = Canaries(deps, settled, tuple(samples), bench, commit)
        for attempt in canaries.at_setup().values():
            found = attempt()
            if found.grade == "problem":
                raise UnfitError(f"{found.name}: {found.text}; {REMEDIES[found.name]}")
        return scores


def _taken(place: Path, content: bytes) -> bool:
    """Whether something else of the user's stands there; what an earlier init put there may."""
    if not (place.exists() or place.is_symlink()):
        return False
    return place.is_symlink() or not place.is_file() or place.read_bytes() != content
