from __future__ import annotations

from pathlib import Path

import pytest

from selfimprove import resources
from selfimprove.errors import ToolError


def test_the_checkout_is_found() -> None:
    assert (resources.folder("templates") / "goal.md").is_file()
    assert resources.text("templates/goal.md").startswith("# Goal")


def test_an_installed_package_holds_them_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages/selfimprove"
    (package / "templates").mkdir(parents=True)
    (package / "templates/goal.md").write_text("installed")
    (tmp_path / "site-packages/templates").mkdir()  # somebody else's
    monkeypatch.setattr(resources, "files", lambda name: package)
    assert resources.text("templates/goal.md") == "installed"


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ToolError, match=r"templates/nothing\.md; install"):
        resources.text("templates/nothing.md")
    with pytest.raises(ToolError, match="nowhere/"):
        resources.folder("nowhere")
