"""The errors a person may see.

Each is one line: what, where, what to do next. Library code raises them; `cli/` alone prints and
exits, with the code that `exit_code` names::

    UserError (1)
      UsageError (2)        a flag or an argument that cannot be meant
      ConfigError (3)       a document, setting or file that does not fit
        ContractError         a document that breaks its data contract
      TargetError (3)       a repository that cannot be used
      TrustError (3)        nobody has confirmed what would be run
      LockedError (5)       another run holds the lock
      ToolError (1)         a program this tool depends on failed
    Stopped (130)           a person asked to stop; not an error
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """Something a person can mend; the message says what, where and how."""

    exit_code = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(what if not remedy else f"{what}; {remedy}")


class UsageError(UserError):
    """A command line that cannot be meant."""

    exit_code = 2


class ConfigError(UserError):
    """A setting, goal or file that does not fit."""

    exit_code = 3


class ContractError(ConfigError):
    """A document that breaks its data contract; it is named and left untouched."""


class TargetError(UserError):
    """A repository that cannot be used as a target."""

    exit_code = 3


class TrustError(UserError):
    """Nobody has confirmed what this run would execute."""

    exit_code = 3


class LockedError(UserError):
    """Another run of the same topic is alive."""

    exit_code = 5


class ToolError(UserError):
    """A program this tool depends on (git, bubblewrap) failed; never a candidate's fault."""


class Stopped(BaseException):
    """A person asked to stop; what is finished is kept, and the run can be resumed."""

    exit_code = 130


@contextmanager
def during(what: str) -> Iterator[None]:
    """Add `while <what>` to a user error that passes through, without re-wrapping it."""
    try:
        yield
    except UserError as error:
        error.add_note(f"while {what}")
        raise
