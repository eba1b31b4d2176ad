"""A record that an earlier version wrote is brought up to date before a run goes on with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from selfimprove.app.common import say
from selfimprove.errors import ContractError
from selfimprove.store import lock
from selfimprove.store.layout import Layout
from selfimprove.store.migrating import finish, migrate

T = TypeVar("T")


def finished(root: Layout) -> None:
    """End a migration that a kill cut off."""
    if old := finish(root):
        say(f"{root.root}: a migration was cut off and is ended now; the old record is {old}")


def brought_up(root: Layout) -> bool:
    """Migrate the record where it is of an earlier version; whether it was."""
    with lock.held(root.lock):
        old = migrate(root)
    if old is not None:
        say(f"{root.root}: written by an earlier version, migrated; the old record is kept: {old}")
    return old is not None


def migrating(root: Layout, work: Callable[[], T]) -> T:
    """Do some work; where a record cannot be read for its age, migrate it and do it again."""
    try:
        return work()
    except ContractError:
        if not brought_up(root):
            raise
    return work()
