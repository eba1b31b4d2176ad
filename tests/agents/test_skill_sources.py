from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from selfimprove.agents.skill_sources import GROUP, in_commit, installed, joined, own, registry
from selfimprove.agents.skills import bundled
from selfimprove.errors import ConfigError
from selfimprove.testing import a_skill, build_repository
from selfimprove.vcs.target import open_target

PLANNER = ".selfimprove/skills/planner/SKILL.md"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "site"


def install(site: Path, package: str, **skills: bytes) -> None:
    """A package with skills, as an installer leaves it; running it would fail."""
    (site / package).mkdir(parents=True)
    (site / package / "__init__.py").write_text("raise RuntimeError('it was imported')\n")
    for name, data in skills.items():
        (site / package / name).mkdir()
        (site / package / name / "SKILL.md").write_bytes(data)
    about = site / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n{package} = {package}\n")


def test_an_installed_package_overrides_and_adds_without_being_run(site: Path) -> None:
    install(site, "extra_pack", planner=a_skill("planner"), linter=a_skill("linter"))
    skills = joined(bundled(), installed())
    assert list(skills)[:2] == ["researcher", "planner"]
    assert (skills["planner"].source, skills["planner"].place) == (
        "installed",
        "extra_pack/planner/SKILL.md",
    )
    assert [skill.id for skill in own(skills)] == ["planner"]  # no run asks a linter
    assert skills["linter"].instructions == "# Do it"


def test_an_inner_package_is_found_without_running_the_outer(site: Path) -> None:
    install(site, "extra_pack")
    (site / "extra_pack/inner/skills/critic").mkdir(parents=True)
    made = a_skill("critic", "critique")
    (site / "extra_pack/inner/skills/critic/SKILL.md").write_bytes(made)
    names = site / "extra_pack-1.0.dist-info/entry_points.txt"
    names.write_text(f"[{GROUP}]\nmine = extra_pack.inner.skills\n")
    assert [skill.place for skill in installed()] == ["extra_pack.inner.skills/critic/SKILL.md"]


def test_two_packages_with_one_skill_are_refused(site: Path) -> None:
    install(site, "pack_a", planner=a_skill("planner"))
    install(site, "pack_b", planner=a_skill("planner"))
    with pytest.raises(ConfigError, match=r"pack_a/.* and pack_b/.* are both the skill planner; "):
        installed()


def test_an_entry_point_to_nothing_is_refused(site: Path) -> None:
    install(site, "pack_a")
    for name in ("nowhere", "nowhere.inner", "json.decoder"):
        file = site / "pack_a-1.0.dist-info/entry_points.txt"
        file.write_text(f"[{GROUP}]\nmine = {name}\n")
        with pytest.raises(ConfigError, match=f"'mine' of {GROUP} names '{name}', no package; "):
            installed(entry_points(group=GROUP))


def test_a_repository_overrides_packages_as_it_is_committed(site: Path, tmp_path: Path) -> None:
    install(site, "extra_pack", planner=a_skill("planner"), critic=a_skill("critic", "critique"))
    mine = a_skill("planner", instructions="# As committed")
    elsewhere = {
        "skills/critic/SKILL.md": "no skill of ours",
        ".selfimprove/skills/planner/examples/SKILL.md": "nor is this",
        ".selfimprove/skills/planner/notes.md": "nor this",
    }
    repository = build_repository(tmp_path / "repo", {PLANNER: mine, **elsewhere})
    (repository.path / PLANNER).write_bytes(a_skill("planner", instructions="# As edited"))
    target = open_target(repository.path)
    skills = registry(target.git, target.head)
    assert skills["planner"].instructions == "# As committed"
    assert skills["planner"].place == PLANNER
    assert {skill.id: skill.source for skill in own(skills)} == {
        "planner": "repository",
        "critic": "installed",
    }


def test_an_override_gives_what_the_bundled_one_gives(tmp_path: Path) -> None:
    repository = build_repository(tmp_path, {PLANNER: a_skill("planner", "diff")})
    target = open_target(repository.path)
    with pytest.raises(ConfigError, match=r"'diff', where the planner .* gives 'plan'; write"):
        registry(target.git, target.head)


def test_a_repository_without_skills_brings_none(tmp_path: Path) -> None:
    target = open_target(build_repository(tmp_path, {"a.py": "A = 1\n"}).path)
    assert list(in_commit(target.git, target.head)) == []
    assert own(registry(target.git, target.head)) == []
