"""What a candidate brings, looked at: nothing that a reader of its patch would not see.

Nothing too big to read, nothing compiled, no secret, no characters that hide others.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from selfimprove.redaction import Redactor
from selfimprove.vcs.changes import Change
from selfimprove.vcs.guard import Violation
from selfimprove.vcs.names import readable
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.scope import Scope

BIGGEST = 1 << 20
"""A larger new file is data, a table of answers perhaps, and no edit."""

_COMPILED = frozenset(
    (
        *(".pyc", ".pyo", ".pyd", ".so", ".dll", ".dylib", ".a", ".o", ".obj", ".lib", ".exe"),
        *(".class", ".jar", ".war", ".wasm", ".node", ".beam", ".elc", ".whl", ".egg"),
    )
)
_HIDING = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
"""Control characters and changes of direction: a patch with them looks like another one, a file
with a zero byte has no patch to look at."""


def content_violations(
    quarantine: Quarantine, changes: Sequence[Change], scope: Scope, redactor: Redactor
) -> Iterator[Violation]:
    """What is wrong with the contents of new and changed files; a file named in scope may be big.

    Only what the candidate adds is blamed on it: a secret that stood there before is not.
    """
    brought = [each for each in changes if each.oid and each.mode.startswith("100")]
    sizes = quarantine.sizes([each.oid for each in brought])
    small = [each for each in brought if sizes[each.oid] <= BIGGEST]
    texts = quarantine.blobs([each.oid for each in small])
    for change in brought:
        path, named = change.path, scope.names_exactly(change.path)
        shown = readable(path)
        if posixpath.splitext(path.lower())[1] in _COMPILED and not named:
            message = f"{shown} is compiled: nobody can see what it does"
            yield Violation("scope_error", path, message, "compiled_file")
        elif change.oid not in texts and not named:
            message = f"{shown} is larger than {BIGGEST >> 20} MiB"
            yield Violation("scope_error", path, message, "big_file")
        elif found := _secret(quarantine, change, texts.get(change.oid, b""), redactor):
            message = f"{shown} holds a secret: {found}"
            yield Violation("scope_error", path, message, "secret_committed")
        elif hiding := _hidden(quarantine, change, texts.get(change.oid, b"")):
            message = f"{shown} holds a character that hides what a reader would see: {hiding}"
            yield Violation("scope_error", path, message, "hidden_text")


def _secret(quarantine: Quarantine, change: Change, data: bytes, redactor: Redactor) -> str:
    found = redactor.found(data.decode("utf-8", "replace"))
    if not found or not change.old_oid:
        return found
    before = quarantine.blob(change.old_oid).decode("utf-8", "replace")
    return "" if redactor.found(before) else found


def _hidden(quarantine: Quarantine, change: Change, data: bytes) -> str:
    """The first character that hides others, by its number; data that is no text has none."""
    try:
        found = _HIDING.search(data.decode("utf-8"))
    except UnicodeDecodeError:
        return ""
    if found is None:
        return ""
    before = quarantine.blob(change.old_oid) if change.old_oid else b""
    if _HIDING.search(before.decode("utf-8", "replace")):
        return ""
    return f"U+{ord(found[0]):04X}"
