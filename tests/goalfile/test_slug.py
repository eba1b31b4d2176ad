from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from selfimprove.goalfile import slugify


def test_examples() -> None:
    assert slugify("Reduce latency") == "reduce_latency"
    assert slugify("Größe – naïve ﬁle №1\nsecond line") == "gro_e_naive_file_no1"
    assert (
        slugify("日本語")
        == "goal_" + "77710aedc74ecfa33685e33a6c7df5cc83004da1bdcef7fb280f5c2b2e97e0a5"[:6]
    )
    assert slugify("x" * 39 + " y") == "x" * 39


@given(st.text())
def test_always_fit_for_a_branch(objective: str) -> None:
    slug = slugify(objective)
    assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", slug)
    assert len(slug) <= 40
    assert slugify(objective) == slug
