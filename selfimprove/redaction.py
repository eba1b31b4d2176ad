"""Secrets taken out of whatever is about to be written: documents, logs, transcripts.

Two kinds are known: the values of the caller's own variables that are named like secrets, and
texts in the form of well-known tokens (detect-secrets has most of them; settings may add more).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

SHOWN = "***"
SHORTEST = 8
"""A shorter value is a word, and blotting it out everywhere would make a record useless."""
CARRY = 4096
"""Bytes of an unfinished line that are held back until it is whole."""

_NAMED = re.compile(
    r"(?i)(?:^|_|api|access|secret|private)(?:key|token|secret|passw(?:or)?d|passphrase|pwd"
    r"|credentials?|cookie|dsn|pat)(?:_?\d*$|_(?:id|base64|b64)$)|passw(?:or)?d$|_auth$"
    r"|(?:database|db|redis)_url$"
)
_WORD = re.compile(r"[a-z]+|[/~].*|\d{1,12}")
"""A value that is a plain word, a path or a small number is no secret."""

_DETECTORS = {
    "azure_storage_key": ("AzureStorageKeyDetector", ("AccountKey=",)),
    "github_token": ("GitHubTokenDetector", ("gh",)),
    "gitlab_token": ("GitLabTokenDetector", ("gl", "GR134")),
    "pypi_token": ("PypiTokenDetector", ("pypi-AgE",)),
    "sendgrid": ("SendGridDetector", ("SG.",)),
    "square_oauth": ("SquareOAuthDetector", ("sq0csp-",)),
    "stripe": ("StripeDetector", ("k_live_",)),
}
"""Those of detect-secrets whose tokens cannot be mistaken for anything else, and what every such
token has in it: most texts have none of it, and need not be searched."""
_FORMS = (  # each in time that grows with the text alone: others write what is searched
    (("AKIA", "ASIA", "ABIA", "ACCA", "A3T"), r"A(?:3T[A-Z0-9]|BIA|CCA|KIA|SIA)[0-9A-Z]{16}\b"),
    (("sk-",), r"sk-(?:ant|proj|svcacct|or)-[A-Za-z0-9_-]{20,}"),
    (("AIza",), r"AIza[0-9A-Za-z_-]{35}\b"),
    (("hf_",), r"hf_[A-Za-z]{34}\b"),
    (("xox",), r"xox[abposr]-(?:\d+-)+[A-Za-z0-9]+"),
    (("github_pat_",), r"github_pat_[A-Za-z0-9_]{60,}"),
    (
        ("eyJ",),
        r"(?<![\w-])(?>[\w-]*?eyJ)[\w-]{10,}+\.eyJ[\w-]{10,}+\.[\w-]{10,}",
    ),
    (
        ("T3BlbkFJ",),
        r"(?<![\w-])(?>[\w-]*?sk-)[\w-]*?[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    ),
    (("_authToken",), r"/:_authToken=\s{,20}(?:npm_.+|[A-Fa-f0-9-]{36}.*)"),
    (
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]{,8000}-----END [A-Z ]*PRIVATE KEY-----)?",
    ),
    (("://",), r"(?<=://)[^\s:/?#@\"']+:[^\s/?#@\"']+(?=@[\w.-])"),
)


@dataclass(frozen=True)
class Form:
    """What one kind of token looks like."""

    expression: re.Pattern[str]
    has: tuple[str, ...]
    """One of these stands in every such token."""


@cache
def forms() -> tuple[Form, ...]:
    """The tokens that are known by their form."""
    found = [Form(re.compile(pattern), has) for has, pattern in _FORMS]
    for module, (name, has) in _DETECTORS.items():
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
        found += [Form(each, has) for each in detector.denylist]
    return tuple(found)


def named_like_secrets(environ: Mapping[str, str]) -> Iterator[str]:
    """Values of variables whose names say that they are secrets."""
    for name, value in environ.items():
        if _NAMED.search(name) and is_secret(value):
            yield value


def is_secret(value: str) -> bool:
    """Whether a value can be told from ordinary words."""
    return len(value) >= SHORTEST and not _WORD.fullmatch(value)


class Redactor:
    """Replaces what it knows by `***`."""

    def __init__(self, values: Iterable[str] = (), patterns: Iterable[str] = ()) -> None:
        self._values = sorted({v for v in values if v}, key=lambda v: (-len(v), v))
        self._escaped = [(value, _in_json(value)) for value in self._values]
        self._own = tuple(Form(re.compile(each), ("",)) for each in patterns)
        self._grouped: dict[tuple[str, ...], list[Form]] = {}

    def text(self, text: str) -> str:
        """The text without secrets; the very same where it holds none."""
        for value, escaped in self._escaped:
            if value in text:
                text = text.replace(value, SHOWN)
            if escaped != value and escaped in text:
                text = text.replace(escaped, SHOWN)
        for form in self._possible(text):
            text = form.expression.sub(SHOWN, text)
        return text

    def data(self, data: bytes) -> bytes:
        """The same for bytes of any kind."""
        text = data.decode("utf-8", "surrogateescape")
        clean = self.text(text)
        return data if clean is text else clean.encode("utf-8", "surrogateescape")

    def document(self, value: Any) -> Any:
        """Plain JSON values with every text in them clean; keys stay as they are."""
        return self._cleaned(value) if self.found("\n".join(_texts(value))) else value

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value) if len(value) >= SHORTEST else value
        if isinstance(value, dict):
            return {key: self._cleaned(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._cleaned(each) for each in value]
        return value

    def found(self, text: str) -> str:
        """What kind of secret a text holds; empty where none is known."""
        if any(value in text for value in self._values):
            return "the value of one of your variables"
        known = any(form.expression.search(text) for form in self._possible(text))
        return "a token or a private key" if known else ""

    def _possible(self, text: str) -> list[Form]:
        """The forms that are worth a search."""
        if not self._grouped:
            grouped: dict[tuple[str, ...], list[Form]] = {}
            for form in (*forms(), *self._own):
                grouped.setdefault(form.has, []).append(form)
            self._grouped = grouped  # at once: threads look
        found: list[Form] = []
        for has, several in self._grouped.items():
            for part in has:
                if part in text:
                    found += several
                    break
        return found


def _texts(value: Any) -> list[str]:
    """Every text in plain JSON values; asked for each message, so without recursion."""
    found, left = [], [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list):
            left += each
    return found


class Stream:
    """Redacts a stream line by line; what is not a whole line yet is held back a while."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def add(self, data: bytes) -> bytes:
        """Take in more; gives what may be written now."""
        data = self._held + data
        cut = data.rfind(b"\n") + 1 or max(0, len(data) - CARRY)
        self._held = data[cut:]
        return self._redactor.data(data[:cut]) if cut else b""

    def rest(self) -> bytes:
        """What was held back."""
        held, self._held = self._held, b""
        return self._redactor.data(held)


def _in_json(value: str) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)[1:-1]
