"""Who pays for a coding CLI: a token, the CLI's own login, or a key where that was asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selfimprove.agents.cli_tools.row import Login, Row
from selfimprove.contracts.settings import Settings
from selfimprove.process import StopToken

LOOK_S = 0.2


@dataclass(frozen=True)
class Account:
    """What a CLI is let have so that its provider knows who asks."""

    words: str
    """Who pays, for a person."""
    by_token: bool
    """Each token costs dollars; otherwise a subscription holds it, and counts calls and tokens."""
    variables: Mapping[str, str] = field(default_factory=dict)
    shares: Mapping[str, Path] = field(default_factory=dict)
    """Place below HOME -> the user's own file, which the CLI reads and renews."""


def account_of(row: Row, settings: Settings, environ: Mapping[str, str]) -> Account | None:
    """Who pays; None where nobody is logged in, or no key is set where keys were asked for."""
    login = row.login
    if row.scheme in settings.agent_keys:
        return _key(login, environ)
    if token := environ.get(login.token, "").strip():
        told = f"the account of the token in {login.token}"
        return Account(told, by_token=False, variables={login.token: token})
    store = _store(login, environ)
    if store is None or not store.is_file():
        return None
    keyed = login.holds_key(_document(store))
    told = f"the API key of the login in {store}" if keyed else f"the account logged in in {store}"
    return Account(told, keyed, login.store_by, {login.store: store})


def no_account(row: Row, settings: Settings) -> tuple[str, str]:
    """What is wrong where there is no account, and what to do."""
    names = " or ".join(row.login.keys)
    if row.scheme in settings.agent_keys:
        return f"agent_keys names {row.scheme}, and {names} is not set", f"export {names}=..."
    use_key = f'add "{row.scheme}" to the setting agent_keys to pay with {names}'
    if not row.login.store:
        return f"{row.scheme} has no login of its own", use_key
    return f"{row.scheme} is not logged in", f"{row.login.how}; or {use_key}"


@contextmanager
def one_at_a_time(account: Account, stop: StopToken) -> Iterator[None]:
    """Whoever shares a login takes turns, over all runs: a login that is renewed is the old one's
    end, so two that renew it at once would lock each other out. Raises Stopped.
    """
    if not account.shares:
        yield
        return
    from filelock import FileLock, Timeout
    from platformdirs import user_cache_path

    (store,) = account.shares.values()
    name = hashlib.sha256(str(store.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    folder = user_cache_path("selfimprove") / "logins"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock")
    while True:
        stop.raise_if_set()
        try:
            lock.acquire(timeout=LOOK_S)
            break
        except Timeout:
            continue
    try:
        yield
    finally:
        lock.release()


def _key(login: Login, environ: Mapping[str, str]) -> Account | None:
    given = {name: environ[name].strip() for name in login.keys if environ.get(name, "").strip()}
    if login.key_as:  # the first is what it takes; else its models' providers are several
        given = {login.key_as: next(iter(given.values()))} if given else {}
    if not given:
        return None
    named = [name for name in login.keys if environ.get(name, "").strip()]
    told = f"the API key in {named[0] if login.key_as else ', '.join(named)}"
    return Account(told, by_token=True, variables=given)


def _store(login: Login, environ: Mapping[str, str]) -> Path | None:
    if not login.store:
        return None
    variable, file = login.moved
    if folder := environ.get(variable, ""):
        return Path(folder) / file
    return Path(environ.get("HOME") or Path.home()) / login.store


def _document(store: Path) -> dict[str, Any]:
    """What a store holds; empty where it cannot be read, which its CLI will say."""
    try:
        found = json.loads(store.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
