from __future__ import annotations

import os
from pathlib import Path

from selfimprove.bench.fingerprint import Parts, digest, fingerprint, machine, path_digest


def environment(folder: Path) -> Path:
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "a.py").write_text("x = 1\n")
    (folder / "current").symlink_to("lib")
    return folder


def test_content_sees_bytes_names_links_and_modes_but_not_times(tmp_path: Path):
    env = environment(tmp_path / "env")
    first = path_digest(env, None)
    assert first.startswith("content:")
    os.utime(env / "lib" / "a.py", (1, 1))
    assert path_digest(env, "content") == first
    assert path_digest(environment(tmp_path / "twin"), "content") == first
    (env / "lib" / "a.py").chmod(0o755)
    changed = path_digest(env, "content")
    (env / "current").unlink()
    (env / "current").symlink_to("elsewhere")
    assert len({first, changed, path_digest(env, "content")}) == 3


def test_a_manifest_sees_a_touched_file_and_the_cache_never_lies(tmp_path: Path):
    env, cache = environment(tmp_path / "env"), tmp_path / "cache"
    manifest = path_digest(env, "manifest")
    first = path_digest(env, None, cache)
    assert path_digest(env, None, cache) == first
    assert len(list(cache.iterdir())) == 1
    (env / "lib" / "a.py").write_text("x = 2\n")
    assert path_digest(env, "manifest") != manifest
    assert path_digest(env, None, cache) not in (first, manifest)
    assert path_digest(env, "none") == "none"
    assert path_digest(tmp_path / "gone", None) != first


def test_a_fingerprint_repeats_and_each_part_moves_its_own_digest():
    parts = Parts({"/e": "content:1"}, {"command": "bench"}, {"timeout": 60}, "bubblewrap")
    first = fingerprint(parts)
    assert first == fingerprint(parts)
    assert first.machine == digest(machine())
    other = fingerprint(Parts({"/e": "content:2"}, {"command": "bench"}, {"timeout": 60}, "off"))
    assert other.environment != first.environment
    assert (other.benchmark, other.settings) == (first.benchmark, first.settings)
    assert other.level == "off"


def test_the_order_of_keys_does_not_matter():
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest([1, 2]) != digest([2, 1])
