from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfimprove.vcs.guard import (
    Patterns,
    Scope,
    Seals,
    SealSources,
    default_seals,
    editable,
    self_scored,
    violations,
)
from selfimprove.vcs.quarantine import Entry
from selfimprove.vcs.trees import Change, Odd

FILE = Entry("100644", "blob", "1" * 40)
BASE = dict.fromkeys(
    (
        *("src/app.py", "src/deep/util.py", "src/conftest.py", "src/package.json"),
        *("tests/conftest.py", "tests/data.json", "bench/run.py", "bench/helper.py"),
        *("README.md", "goal.md", "Makefile", "uv.lock", ".github/workflows/ci.yml"),
        *("CLAUDE.md", ".gitattributes", "secret/answers.txt"),
    ),
    FILE,
)


# --- patterns ---


@pytest.mark.parametrize(
    ("pattern", "means", "not_"),
    [
        ("src/app.py", ["src/app.py"], ["x/src/app.py", "src/app.pyc"]),
        ("app.py", ["app.py"], ["src/app.py"]),
        ("./src/", ["src/app.py", "src/a/b.py"], ["src", "x/src/a.py", "srcs/a.py"]),
        ("src", ["src", "src/app.py"], ["srcs/app.py"]),
        ("/src/", ["src/app.py"], ["x/src/app.py"]),
        ("*.py", ["a.py", "src/deep/b.py", "new\nline.py"], ["a.pyc", "py"]),
        ("src/*.py", ["src/a.py"], ["src/deep/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["lib/src/a.py", "src/a.txt"]),
        ("src/**", ["src/a", "src/x/y"], ["srcs/a"]),
        ("[ab].txt", ["a.txt", "x/b.txt"], ["c.txt"]),
        (".", ["a", "x/y"], []),
        ("**", ["a", "x/y"], []),
        ("a[1].py", ["a[1].py", "a1.py"], ["a2.py"]),
        ("!bang*", ["!bang.py"], ["other"]),
        ("#hash*", ["#hash.py"], []),
        ("../up/", [], ["up/a", "../up/a"]),
        ("ä/ö.py", ["ä/ö.py"], []),
    ],
)
def test_patterns_mean_what_people_mean(pattern: str, means: list[str], not_: list[str]) -> None:
    patterns = Patterns([pattern])
    assert [path for path in means if path not in patterns] == []
    assert [path for path in not_ if path in patterns] == []


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("app.py", "sub/dir/app.py"),
        ("*.py", "sub/dir/deep/a.py"),
        ("src/*.py", "sub/dir/src/a.py"),
        ("../shared/", "sub/shared/a"),
        ("../shared/*.py", "sub/shared/a.py"),
        (".", "sub/dir/x"),
    ],
)
def test_patterns_are_read_from_the_targets_subdirectory(pattern: str, path: str) -> None:
    patterns = Patterns([pattern], "sub/dir/")
    assert path in patterns
    assert path.removeprefix("sub/") not in patterns
    assert "x/" + path not in patterns


NAMES = st.text(st.sampled_from("ab*?[].-!# \\ä"), min_size=1, max_size=4).filter(
    lambda name: name.strip() == name and name not in (".", "..")
)


@given(st.lists(NAMES, min_size=1, max_size=4).map("/".join))
def test_every_path_as_its_own_pattern_names_it_exactly(path: str) -> None:
    patterns = Patterns([path])
    assert patterns.names_exactly(path)
    assert path in patterns
    assert f"{path}/below" in Patterns([path + "/"])
    assert not Patterns([path + "/"]).names_exactly(path)


def test_patterns_that_mean_nothing_are_found() -> None:
    scope = Scope(["src/", "aap.py", "*.rs"])
    assert scope.unmatched(BASE) == ["aap.py", "*.rs"]


# --- scope and seals ---


def seals(scope: Scope, **sources) -> Seals:
    made = {"benchmark": frozenset({"bench/run.py", "goal.md"})} | sources
    return default_seals(BASE, scope, SealSources(**made))


def test_out_of_scope_and_hidden_take_away() -> None:
    scope = Scope(["src/", "secret/"], ["src/deep/"], ["secret/"])
    assert scope.editable(BASE) == ["src/app.py", "src/conftest.py", "src/package.json"]


def test_default_seals() -> None:
    sealed = seals(Scope(["src/"]), opened=frozenset({"tests/data.json", "src/app.py"}))
    assert sealed.paths == {
        "bench/run.py",
        "goal.md",
        "tests/data.json",  # opened, and not in scope
        "tests/conftest.py",
        "Makefile",
        "uv.lock",
        "CLAUDE.md",
        ".github/workflows/ci.yml",
        ".gitattributes",
        "src/package.json",  # a manifest: a folder in scope does not open it
    }
    assert editable(BASE, Scope(["src/"]), sealed) == [
        "src/app.py",
        "src/conftest.py",
        "src/deep/util.py",
    ]


def test_manifests_are_opened_by_exact_name_or_unsealed_files() -> None:
    assert "Makefile" in seals(Scope(["."]))
    assert "Makefile" not in seals(Scope(["Makefile"]))
    assert "uv.lock" not in seals(Scope(["src/"]), unsealed=("uv.lock",))


def test_sealed_always_wins() -> None:
    sealed = seals(Scope(["src/app.py", "Makefile"]), sealed=("src/", "Makefile"))
    assert {"src/app.py", "Makefile", "src/new.py"} <= {
        path for path in ("src/app.py", "Makefile", "src/new.py") if path in sealed
    }


def test_new_configuration_is_sealed_in_every_folder_unless_named() -> None:
    sealed = seals(Scope(["src/", "src/new/conftest.py"]))
    planted = ["conftest.py", "src/deep/conftest.py", "src/pytest.ini", "src/Makefile"]
    planted += ["src/.gitattributes", "src/CLAUDE.md", "src/x.pth", "src/.claude/settings.json"]
    planted += ["src/sitecustomize.py", "src/PyProject.toml"]
    assert [path for path in planted if path not in sealed] == []
    assert [path for path in ("src/new.py", "src/new/conftest.py") if path in sealed] == []


def test_files_that_make_the_score_in_scope_are_named() -> None:
    scope = Scope(["bench/", "src/"])
    assert self_scored(scope, ["bench/run.py", "goal.md"]) == ["bench/run.py"]
    assert self_scored(Scope(["src/"]), ["bench/run.py"]) == []


def test_what_agents_are_told_by_is_sealed_whatever_the_scope_says() -> None:
    told = ".selfimprove/skills/planner/SKILL.md"
    opened = (".selfimprove/", told)
    sealed = default_seals(
        {*BASE, told}, Scope([".", told]), SealSources(unsealed=opened, prefix="")
    )
    below = default_seals(BASE, Scope(["."]), SealSources(unsealed=opened, prefix="src/"))
    assert told in sealed.paths
    assert told in below
    assert ".selfimprove/skills/critic/SKILL.md" in sealed


def test_uncommitted_benchmark_files_are_sealed_too() -> None:
    sealed = seals(Scope(["src/"]), benchmark=frozenset({"score.sh"}))
    assert "score.sh" in sealed
    assert "score.sh" in sealed.paths


# --- violations ---

SCOPE = Scope(["src/", "bench/new/", "json.py"], hidden=["secret/"])


def changed(path: str, kind="modified", **more) -> Change:
    modes = {
        "added": ("100644", "", "2" * 40),
        "modified": ("100644", "100644", "2" * 40),
        "deleted": ("", "100644", ""),
    }
    mode, old, oid = modes[kind]
    fields = {"mode": mode, "old_mode": old, "oid": oid} | more
    return Change(path=path, kind=kind, **fields)


def test_honest_edits_are_not_blamed() -> None:
    honest = [
        changed("src/app.py"),
        changed("src/types.py", "added"),  # a standard module's name, where nothing shadows it
        changed("src/deep/util.py", "deleted"),
        changed("src/run.sh", "added", mode="100755"),
        changed("src/alias", "added", mode="120000", link="deep/util.py"),
        changed("src/deep/alias", "added", mode="120000", link="../app.py"),
    ]
    assert violations(honest, BASE, SCOPE, seals(SCOPE)) == []


@pytest.mark.parametrize(
    ("change", "kind", "technique"),
    [
        (changed("bench/run.py"), "sealed_file_violation", "sealed_file_edited"),
        (changed("goal.md", "deleted"), "sealed_file_violation", "sealed_file_deleted"),
        (changed("src/deep/conftest.py", "added"), "sealed_file_violation", "sealed_file_planted"),
        (changed("bench/random.py", "added"), "sealed_file_violation", "shadow_module"),
        (changed("bench/json/__init__.py", "added"), "sealed_file_violation", "shadow_module"),
        (changed("README.md"), "scope_error", "out_of_scope"),
        (changed("secret/answers.txt"), "scope_error", "hidden_file"),
        (changed("src/a\nb", "added"), "scope_error", "odd_name"),
        (changed("src/\udcff", "added"), "scope_error", "odd_name"),
        (changed("src/a\u202eb", "added"), "scope_error", "odd_name"),
        (changed("src/sub", "added", mode="160000"), "scope_error", "submodule"),
        (changed("src/l", "added", mode="120000", link="/etc"), "scope_error", "symlink_escape"),
        (changed("src/l", "added", mode="120000", link="../../x"), "scope_error", "symlink_escape"),
        (changed("src/l", "added", mode="120000", link="a/../.."), "scope_error", "symlink_escape"),
        (changed("src/l", "added", mode="120000", link="../.git"), "scope_error", "symlink_escape"),
        (changed("src/l", "added", mode="120000", link=".GIT/x"), "scope_error", "symlink_escape"),
        (changed("src/APP.py", "added"), "scope_error", "name_collision"),
        (changed("src/Deep/x.py", "added"), "scope_error", "name_collision"),
    ],
)
def test_each_technique_is_named(change: Change, kind: str, technique: str) -> None:
    found = violations([change], BASE, SCOPE, seals(SCOPE))
    assert [(it.kind, it.technique, it.path) for it in found] == [(kind, technique, change.path)]
    assert "\n" not in found[0].message


def test_modules_before_those_that_the_benchmark_finds() -> None:
    sealed = seals(SCOPE, searched=frozenset({"src"}), imported=frozenset({"yaml"}))
    new = ["src/yaml.py", "src/yaml/__init__.py", "src/json.py", "src/other.py", "src/deep/json.py"]
    found = violations([changed(path, "added") for path in new], BASE, SCOPE, sealed)
    assert [(it.path, it.technique) for it in found] == [
        (path, "shadow_module") for path in new[:3]
    ]


def test_accents_in_two_encodings_collide() -> None:
    base = BASE | {"src/\u00e9.py": FILE}
    found = violations([changed("src/e\u0301.py", "added")], base, SCOPE, seals(SCOPE))
    assert [it.technique for it in found] == ["name_collision"]


def test_a_rename_out_of_a_sealed_place_is_seen_as_deletion() -> None:
    moved = [changed("bench/run.py", "deleted"), changed("src/run.py", "added")]
    found = violations(moved, BASE, SCOPE, seals(SCOPE))
    assert [it.technique for it in found] == ["sealed_file_deleted"]


def test_a_rename_that_only_changes_case_is_no_collision() -> None:
    moved = [changed("src/app.py", "deleted"), changed("src/App.py", "added")]
    assert violations(moved, BASE, SCOPE, seals(SCOPE)) == []


def test_odd_things_of_the_tree_are_reasons_to_refuse() -> None:
    odd = [Odd("src/.git", "a repository inside the tree")]
    assert [it.technique for it in violations([], BASE, SCOPE, seals(SCOPE), odd)] == ["odd_file"]
