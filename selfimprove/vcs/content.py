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


_DATA = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp", ".pdf", ".gz", ".xz", ".zst"),
    *(".bz2", ".zip", ".npy", ".npz", ".ttf", ".otf", ".woff", ".woff2", ".mp3", ".mp4", ".ogg"),
    *(".wav", ".flac", ".tif", ".tiff", ".parquet", ".feather", ".h5", ".hdf5", ".onnx"),
    *(".safetensors", ".tflite", ".gguf"),
)
"""Nobody expects to read these."""
_GIT_LOOKS_AT = 8000
"""Bytes: where git finds a zero byte in them, it shows no text of the file."""
_CODING = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)")
"""A line by which Python reads a file in another encoding than UTF-8 (PEP 263)."""
_SEEN_AS_IT_IS = re.compile(r"utf-?8(?:-.*)?|(?:us-)?ascii|latin-?1|iso-?8859-1|iso-latin-1")


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
        elif coding := _recoded(quarantine, change, texts.get(change.oid, b"")):
            message = f"{shown} is Python in {coding}, where a reader would see other code"
            yield Violation("scope_error", path, message, "hidden_text")


def _secret(quarantine: Quarantine, change: Change, data: bytes, redactor: Redactor) -> str:
    found = redactor.found(data.decode("utf-8", "replace"))
    if not found or not change.old_oid:
        return found
    before = quarantine.blob(change.old_oid).decode("utf-8", "replace")
    return "" if redactor.found(before) else found


def _hidden(quarantine: Quarantine, change: Change, data: bytes) -> str:
    """The first character that hides others, by its number; what is plainly data has none."""
    if _is_data(change.path, data):
        return ""
    found = _HIDING.search(data.decode("utf-8", "replace"))
    if found is None:
        return ""
    before = quarantine.blob(change.old_oid) if change.old_oid else b""
    if _HIDING.search(before.decode("utf-8", "replace")):
        return ""
    return f"U+{ord(found[0]):04X}"


def _is_data(path: str, data: bytes) -> bool:
    """Whether neither a person nor git takes it for text: one odd byte makes no data."""
    if not path.lower().endswith(_DATA) or b"\0" not in data[:_GIT_LOOKS_AT]:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _recoded(quarantine: Quarantine, change: Change, data: bytes) -> str:
    """The encoding that a Python file is newly in, where it makes other text of the same bytes."""
    coding = _coding(data) if _is_python(change.path, data) else ""
    if coding and change.old_oid and _coding(quarantine.blob(change.old_oid)) == coding:
        return ""
    return coding


def _is_python(path: str, data: bytes) -> bool:
    first = data.partition(b"\n")[0]
    return path.lower().endswith((".py", ".pyw", ".pyi")) or (
        first.startswith(b"#!") and b"python" in first
    )


def _coding(data: bytes) -> str:
    for line in data[:_GIT_LOOKS_AT].splitlines()[:2]:
        found = _CODING.match(line)
        coding = found[1].decode("ascii").lower().replace("_", "-") if found else ""
        if coding and not _SEEN_AS_IT_IS.fullmatch(coding):
            return coding
    return ""
