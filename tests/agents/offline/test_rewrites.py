# ruff: noqa: E501 - a case a line
"""Rewrites: the new code is as expected, and does what the old code did."""

from __future__ import annotations

from typing import Any

import pytest

from selfimprove.agents.offline.edits import apply_hunks
from selfimprove.agents.offline.files import SourceFile
from selfimprove.agents.offline.idea import ChangeIdea
from selfimprove.agents.offline.sources import rewrites, ruff_rules

CASES = [
    ("hoist-value", "def f(xs):\n    return [x / sum(xs) for x in xs]\n", ([1, 3],)),
    ("hoist-value", "def f(xs):\n    out = 0\n    for x in xs:\n        out += x - min(xs)\n    return out\n", ([],)),
    ("hoist-set", "def f(a: list, b: list):\n    return [x for x in a if x in b]  # kept\n", ([1, 2], [2])),
    ("hoist-count", "def f(xs: list):\n    return {x: xs.count(x) for x in xs}\n", ([1, 1, 2],)),
    ("hoist-index", "def f(xs: list):\n    return [xs.index(x) for x in xs]\n", ([4, 4, 2],)),
    ("cache-function", "import math\n\n\ndef f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\n", (12,)),
    (
        "list-to-ordered-set seen",
        "def f(xs):\n    seen = []\n    for x in xs:\n        if x not in seen:\n            seen.append(x)\n    return seen\n",
        ([3, 1, 3],),
    ),
    (
        "list-to-set seen",
        "def f(xs):\n    seen = []\n    n = 0\n    for x in xs:\n        if x in seen:\n            n += 1\n        seen.append(x)\n    return n\n",
        ([3, 1, 3],),
    ),
    (
        "list-to-deque queue",
        "def f(n):\n    queue = [n]\n    out = []\n    while queue:\n        k = queue.pop(0)\n        out.append(k)\n        if k:\n            queue.append(k - 1)\n    return out\n",
        (4,),
    ),
    (
        "join-by-index b",
        "def f(xs, ys):\n    out = []\n    for a in xs:\n        for b in ys:\n            # same key\n            if a[0] == b[0]:\n                out.append((a, b))  # kept\n                break\n    return out\n",
        ([(1, 2), (3, 4)], [(3, 0), (1, 0), (1, 9)]),
    ),
    (
        "join-by-index b",
        "def f(xs, ys):\n    out = []\n    for a in xs:\n        for b in ys:\n            if b[0] == a[0] and b[1]:\n                out.append((a, b))\n    return out\n",
        ([(1, 2), (3, 4)], [(3, 0), (1, 0), (1, 9)]),
    ),
    ("loop-over-items", "def f(xs):\n    out = []\n    for i in range(len(xs)):\n        out.append(xs[i] + i)\n    return out\n", ([4, 5],)),
    ("sum-of-loop t", "def f(xs):\n    t = 1\n    for x in xs:\n        t += x * 2\n    return t\n", ([4, 5],)),
    ("insort out", "def f(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n        out.sort()\n    return out\n", ([4, 5, 1],)),
    (
        "slots",
        'class P:\n    """A point."""\n\n    def __init__(self, x):\n        self.x = x\n\n\ndef f(x):\n    return P(x).x\n',
        (3,),
    ),
    ("slots", "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass P:\n    x: int = 3\n\n\ndef f():\n    return P().x\n", ()),
    ("regex-compiled-once _F_RE", 'import re\n\n\ndef f(s):\n    return re.sub(r"\\d", "x", s)\n', ("a1",)),
]  # fmt: skip


def ideas_of(text: str, name: str) -> list[ChangeIdea]:
    return [i for i in rewrites.find([SourceFile("m.py", text, "python")]) if i.name == name]


def run(text: str, given: tuple[Any, ...]) -> Any:
    scope: dict[str, Any] = {"__name__": "m"}
    exec(compile(text, "m.py", "exec", dont_inherit=True), scope)
    return scope["f"](*given)


@pytest.mark.parametrize(("name", "text", "given"), CASES)
def test_a_rewrite_changes_the_code_and_not_what_it_does(
    name: str, text: str, given: tuple[Any, ...]
) -> None:
    [idea] = ideas_of(text, name)
    new = apply_hunks(text, idea.hunks)
    assert new != text
    assert run(new, given) == run(text, given)
    for comment in ("# kept", "# same key"):
        assert (comment in new) == (comment in text)


UNSAFE = [
    ("hoist-value", "def f(xs):\n    for x in xs:\n        xs.append(sum(xs))\n"),
    ("hoist-value", "def f(xs):\n    for x in range(3):\n        g(xs)\n        h(sum(xs))\n"),
    ("hoist-value", "def f(self):\n    for x in self.a:\n        self.grow()\n        h(sum(self.a))\n"),
    ("hoist-value", "def f(xs):\n    return sum(xs)\n"),
    ("hoist-value", "def f(xs):\n    for x in sum(xs):\n        g(x)\n"),
    ("hoist-value", "def f(xs):\n    return [sum(x) for x in xs]\n"),
    ("hoist-set", "def f(a, b: str):\n    return [x for x in a if x in b]\n"),
    ("hoist-set", "def f(a):\n    b = []\n    for x in a:\n        if x in b:\n            pass\n        b.append(x)\n"),
    ("cache-function", "def f(n):\n    print(n)\n    return f(n - 1)\n"),
    ("cache-function", "STATE = 0\n\n\ndef f(n):\n    global STATE\n    return f(n - STATE)\n"),
    ("cache-function", "cache = {}\n\n\ndef f(n):\n    return f(n - len(cache))\n"),
    ("cache-function", "def f(n):\n    n.append(1)\n    return f(n)\n"),
    ("cache-function", "def f(n):\n    out = []\n    out.append(f(n - 1))\n    return out\n"),
    ("list-to-ordered-set seen", "def f(xs):\n    seen = []\n    for x in xs:\n        if x not in seen:\n            seen.append(x)\n    return seen[0]\n"),
    ("list-to-set seen", "def f(xs):\n    seen = []\n    g(seen)\n    for x in xs:\n        if x in seen:\n            seen.append(x)\n"),
    ("list-to-deque queue", "def f(n):\n    queue = [n]\n    queue.pop(0)\n    return queue[1:]\n"),
    ("join-by-index b", "def f(xs, ys):\n    for a in xs:\n        for b in ys:\n            if a.k == b.k:\n                ys.remove(b)\n"),
    ("loop-over-items", "def f(xs):\n    for i in range(len(xs)):\n        xs[i] = xs[i] + 1\n"),
    ("sum-of-loop t", "def f(xs):\n    t = 0\n    for x in xs:  # why\n        t += x\n"),
    ("slots", "class P:\n    def __init__(self):\n        self.x = 1\n\n\nP().y = 2\n"),
    ("slots", "class P(Base):\n    def __init__(self):\n        self.x = 1\n"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), UNSAFE)
def test_a_rewrite_that_could_not_be_right_is_not_offered(name: str, text: str) -> None:
    assert ideas_of(text, name) == []


def test_the_rewrite_goes_before_the_outermost_loop_in_which_nothing_changes() -> None:
    text = (
        "def f(rows, ok: list):\n    n = 0\n    for row in rows:\n        for cell in row:\n"
        "            if cell in ok:\n                n += 1\n    return n\n"
    )
    [idea] = ideas_of(text, "hoist-set")
    assert "    ok_set = set(ok)\n    for row in rows:" in apply_hunks(text, idea.hunks)


def test_what_ruff_finds_is_one_idea_for_each_function_and_one_for_the_file() -> None:
    text = (
        "def f(xs):\n    out = []\n    for x in xs:\n        out.append(x + 1)  # é\n    return out\n\n\n"
        "def g(xs):\n    é = 'é'; out = []\n    for x in xs:\n        out.append(é + x)\n    return out\n"
    )
    found = ruff_rules.find([SourceFile("m.py", text, "python")])
    lists = {idea.symbol: idea for idea in found if "PERF401" in idea.name}
    assert set(lists) == {"", "f", "g"}
    both = apply_hunks(text, lists[""].hunks)
    assert both.count("[") == 2
    assert "out = [x + 1 for x in xs]" in apply_hunks(text, lists["f"].hunks)
    assert not lists["f"].safe
