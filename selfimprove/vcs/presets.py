"""Names of files that configure tests, builds, CI, git and agents, in every ecosystem.

Editing or planting one can move a score without improving the code that is measured, so they are
sealed unless the scope says otherwise (`seals.py`). Names are compared in lower case.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import Literal

Preset = Literal["manifest", "config"]
"""`manifest`: opened by its exact name only; `config`: also by a folder or glob in scope."""


def _words(text: str) -> tuple[frozenset[str], re.Pattern[str]]:
    """The plain names of a list, and one expression for its globs."""
    words = text.split()
    globs = [translate(word) for word in words if "*" in word]
    plain = frozenset(word for word in words if "*" not in word)
    return plain, re.compile("|".join(globs or ["(?!)"]))


_MANIFESTS = _words("""
    pyproject.toml setup.py setup.cfg manifest.in requirements*.txt constraints*.txt pipfile
    environment.yml environment.yaml pixi.toml hatch.toml
    package.json deno.json deno.jsonc tsconfig*.json jsconfig*.json .npmrc .yarnrc .yarnrc.yml
    .pnpmfile.cjs pnpm-workspace.yaml bunfig.toml binding.gyp
    cargo.toml build.rs rust-toolchain rust-toolchain.toml go.mod go.work
    makefile gnumakefile *.mk justfile cmakelists.txt *.cmake cmakepresets.json meson.build
    meson_options.txt configure.ac build.bazel workspace.bazel module.bazel .bazelrc
    pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties
    build.sbt build.zig build.zig.zon rakefile taskfile.yml gemfile *.gemspec composer.json
    mix.exs package.swift
    *.csproj directory.build.props dockerfile containerfile docker-compose.yml compose.yaml
    rebar.config stack.yaml *.cabal project.clj workspace uv.toml pdm.toml distutils.cfg
    .env .env.* .envrc .tool-versions .mise.toml mise.toml .python-version .node-version .nvmrc
    .ruby-version .condarc pip.conf .pypirc flake.nix shell.nix default.nix
    *.lock *.lockb go.sum go.work.sum package-lock.json npm-shrinkwrap.json pnpm-lock.yaml
    conda-lock.yml gradle.lockfile package.resolved deno.lock
    .gitattributes .gitmodules .gitignore .gitconfig .lfsconfig
    sitecustomize.py usercustomize.py *.pth
    goal.md
""")

_CONFIGS = _words("""
    conftest.py pytest.ini .pytest.ini tox.ini noxfile.py .coveragerc
    jest.config.* jest.setup.* vitest.config.* vitest.workspace.* vitest.setup.* vite.config.*
    karma.conf.* .mocharc* playwright.config.* cypress.config.* babel.config.* .babelrc* .swcrc
    webpack.config.* rollup.config.* esbuild.config.* .nycrc* .rspec spec_helper.rb
    test_helper.exs phpunit.xml* asv.conf.json lefthook.yml .lefthook.yml *.code-workspace
    .gitlab-ci.yml .travis.yml azure-pipelines.yml jenkinsfile .pre-commit-config.yaml
    claude.md claude.local.md agents.md agents.override.md gemini.md .mcp.json
    .cursorrules .windsurfrules
    .clinerules .aider* opencode.json copilot-instructions.md
""")

_MANIFEST_FOLDERS = frozenset({".cargo"})
_CONFIG_FOLDERS, _ = _words("""
    .github .gitlab .circleci .buildkite .husky .devcontainer
    .vscode .idea .zed .mvn
    .claude .codex .cursor .roo .clinerules .gemini .opencode .windsurf .continue .agents
""")


@lru_cache(maxsize=65536)
def preset(path: str) -> Preset | None:
    """Which kind of configuration a path is by its name, if it is one."""
    *folders, name = path.lower().split("/")
    if not _MANIFEST_FOLDERS.isdisjoint(folders) or _named(name, _MANIFESTS):
        return "manifest"
    if not _CONFIG_FOLDERS.isdisjoint(folders) or _named(name, _CONFIGS):
        return "config"
    return None


def _named(name: str, words: tuple[frozenset[str], re.Pattern[str]]) -> bool:
    plain, globs = words
    return name in plain or globs.match(name) is not None
