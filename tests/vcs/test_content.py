"""What a candidate brings."""

from __future__ import annotations

import pytest

from selfimprove.redaction import Redactor
from selfimprove.vcs.compare import changes_between
from selfimprove.vcs.content import BIGGEST, content_violations
from selfimprove.vcs.imported import imported_modules
from selfimprove.vcs.index import tree_with
from selfimprove.vcs.quarantine import Quarantine
from selfimprove.vcs.scope import Scope

KEY = "Zx81-PqLmW0v"


def candidate(q: Quarantine, files: dict[str, bytes]) -> str:
    base = q.target.head
    added = {path: ("100644", q.store(data)) for path, data in files.items()}
    return q.commit_tree(tree_with(q, base, [], added), [base], "x", "2024-01-01T00:00:00Z")


def wrong(q: Quarantine, files: dict[str, bytes], scope: str = "src/") -> list[str]:
    changes = changes_between(q, q.target.head, candidate(q, files))
    found = content_violations(q, changes, Scope([scope]), Redactor([KEY]))
    return [each.technique for each in found]


@pytest.mark.parametrize(
    ("path", "data", "techniques"),
    [
        ("src/app.py", b"X = 2\n", []),
        ("src/table.txt", b"x" * BIGGEST, []),
        ("src/table.txt", b"x" * (BIGGEST + 1), ["big_file"]),
        ("src/a.so", b"\x7fELF", ["compiled_file"]),
        ("src/A.PYC", b"", ["compiled_file"]),
        ("src/app.py", f"K = '{KEY}'".encode(), ["secret_committed"]),
        ("src/app.py", "X = 1  # \u202e)nim(tni\n".encode(), ["hidden_text"]),
        ("src/new.js", b"run()  // \0\n", ["hidden_text"]),
        ("src/app.py", b"print('\x1b[2K')\n", ["hidden_text"]),
        ("src/page.txt", "\f\t\r\n ümlaut \u200d\n".encode(), []),
        ("src/picture.png", b"\x89PNG\r\n\x1a\n\0\0\xff", []),
        ("src/other.txt", b"x\0\xff\n", ["hidden_text"]),
        ("src/note.txt", b"\x1b]0;mine\x07\x1b[2J \xff\n", ["hidden_text"]),
        ("src/note.png", b"\x1b]0;mine\x07\x1b[2J \xff\n", ["hidden_text"]),
        ("src/old.txt", b"na\xefve\n", []),
        (
            "src/app.py",
            b"# -*- coding: latin-1 -*-\n# \xff\nX = 1  # " + "\u202e".encode(),
            ["hidden_text"],
        ),
        ("src/app.py", b"# -*- coding: latin-1 -*-\n# \xff\n", []),
        ("src/app.py", b"#!/usr/bin/python\n# vim: set fileencoding=UTF_8 :\n", []),
        ("src/app.py", b"# -*- coding: utf-7 -*-\n# +AAo-X = 1\n", ["hidden_text"]),
        ("src/app.py", b"\r# coding=UTF_7\rX = 1\n", ["hidden_text"]),
        ("src/run", b"#!/usr/bin/python3\n# coding: rot13\n", ["hidden_text"]),
        ("src/app.py", b"\n\n# coding: utf-7\n", []),
        ("src/app.md", b"# coding: utf-7\n", []),
        ("src/app.py", b"K = 'AKIAQ3EGRIZ5KWTLMN7X'", ["secret_committed"]),
    ],
)
def test_what_is_refused(
    quarantine: Quarantine, path: str, data: bytes, techniques: list[str]
) -> None:
    assert wrong(quarantine, {path: data}) == techniques


def test_a_file_that_the_scope_names_may_be_big(quarantine: Quarantine) -> None:
    assert wrong(quarantine, {"src/t.bin": b"x" * (2 * BIGGEST)}, "src/t.bin") == []


def test_imports_of_sealed_files_less_what_may_be_changed(quarantine: Quarantine) -> None:
    files = {
        "bench.py": b"import json, os.path\nfrom util import x\nfrom . import y\nimport far.off\n",
        "broken.py": b"import (",
    }
    commit = candidate(quarantine, files)
    entries = quarantine.entries(commit)
    found = imported_modules(quarantine, entries, [*files, "src/app.py"], Scope(["src/"]))
    assert found == {"json", "os", "far"}


def test_what_stood_there_before_is_not_blamed_on_a_candidate(quarantine: Quarantine) -> None:
    base = candidate(quarantine, {"src/codes.py": b"RESET = '\x1b[0m'\n"})
    more = quarantine.store(b"RESET = '\x1b[0m'\nBOLD = '\x1b[1m'\n")
    changed = tree_with(quarantine, base, [], {"src/codes.py": ("100644", more)})
    after = quarantine.commit_tree(changed, [base], "x", "2024-01-01T00:00:00Z")
    changes = changes_between(quarantine, base, after)
    assert list(content_violations(quarantine, changes, Scope(["src/"]), Redactor([]))) == []


def test_an_encoding_that_stood_there_before_is_not_blamed_on_a_candidate(
    quarantine: Quarantine,
) -> None:
    base = candidate(quarantine, {"src/kana.py": b"# coding: euc-jp\nX = 1\n"})
    more = quarantine.store(b"# coding: euc-jp\nX = 2\n")
    changed = tree_with(quarantine, base, [], {"src/kana.py": ("100644", more)})
    after = quarantine.commit_tree(changed, [base], "x", "2024-01-01T00:00:00Z")
    changes = changes_between(quarantine, base, after)
    assert list(content_violations(quarantine, changes, Scope(["src/"]), Redactor([]))) == []
