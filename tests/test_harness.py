from __future__ import annotations

from pathlib import Path

import pytest

from selfimprove import resources
from selfimprove.contracts.base import FAMILIES
from selfimprove.errors import ConfigError
from selfimprove.harness import Family, Harness, parse_harness, read_harness

TEXT = """\
# Harness
## Families
- `cache_layout`: what is cached, and where
- Batch Size — how much is done at once
- plain
## Notes
- nothing to see
## Rules
- Keep the public names
  of orders/api.py.
- One change a plan
"""


def test_families_and_rules() -> None:
    harness = parse_harness(TEXT.replace("\n", "\r\n"))
    assert harness.families == (
        Family("cache_layout", "what is cached, and where"),
        Family("batch_size", "how much is done at once"),
        Family("plain"),
    )
    assert harness.rules == ("Keep the public names of orders/api.py.", "One change a plan")
    assert harness.family_names == (*FAMILIES, "cache_layout", "batch_size", "plain")


def test_a_table_of_families() -> None:
    text = "## Families\n| Tag | Description |\n|---|---|\n| `simd` | vector code |\n"
    assert parse_harness(text).families == (Family("simd", "vector code"),)


def test_bad_names_are_refused_with_their_line() -> None:
    with pytest.raises(ConfigError, match=r"harness.md line 2: '9%' cannot be"):
        parse_harness("## Families\n- 9%: no\n")
    with pytest.raises(ConfigError, match=r"line 3: a second family 'a'"):
        parse_harness("## Families\n- a: x\n- a: y\n")


def test_the_template_adds_nothing(tmp_path: Path) -> None:
    assert parse_harness(resources.text("templates/harness.md")) == Harness()
    assert read_harness(tmp_path / "none.md") == Harness()
