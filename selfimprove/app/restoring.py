"""A root that is gone comes back from what its target keeps of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfimprove.app.common import say
from selfimprove.app.migrating import finished
from selfimprove.errors import ConfigError
from selfimprove.names import record_ref
from selfimprove.places import private_of, quarantine_of, root_of
from selfimprove.safekeeping import kept, restore
from selfimprove.session import prepare_folder
from selfimprove.store import lock
from selfimprove.store.layout import Layout
from selfimprove.store.state import State
from selfimprove.vcs.git import Git
from selfimprove.vcs.target import open_target

if TYPE_CHECKING:
    from selfimprove.app.options import RunOptions


def layout_of(options: RunOptions) -> Layout:
    """Where the record of the run lies, or will."""
    if options.root:
        return Layout(options.root.absolute())
    return Layout(root_of(open_target(options.repo).top, options.topic))


def bring_back(options: RunOptions) -> None:
    """Restore the root where it is lost; raises ConfigError where there never was a run."""
    layout = layout_of(options)
    finished(layout)
    if layout.journal.is_dir():
        return
    target = open_target(options.repo)
    if not kept(target.git, options.topic):
        raise ConfigError(
            f"{layout.root}: no run to resume",
            f"start one with `selfimprove run {options.repo}`",
        )
    prepare_folder(layout)
    with lock.held(layout.lock):
        state = restore(target.git, options.topic, layout)
        _take_back(options, layout, state)
    ref = record_ref(options.topic)
    say(f"{layout.root} was gone: restored from {ref}, as of round {state.number}")


def _take_back(options: RunOptions, layout: Layout, state: State) -> None:
    """The private clone, where it is still there, knows of no win that the record does not know."""
    path = quarantine_of(private_of(layout.root, options.trees))
    if path.is_dir() and state.facts and state.incumbent:
        commit = state.incumbent.commit
        Git(path).attempt("update-ref", "--no-deref", state.facts.improve_ref, commit)
