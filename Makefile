# demo   the main job from a fresh clone, with the model in the box  setup  a virtual environment with the package and its tools
# test   sets up, then every test that this machine can run        setup-all  the same with torch, lm_eval, inspect_ai
# lint   style, types, who imports whom, plain English             perf   the benchmarks
# docs   the site of the documentation, in site/
# fuzz   property tests on new examples, until stopped or for FUZZ_SECONDS
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
INSTALLER ?= $(BIN)/python -m pip --disable-pip-version-check
PIP    := $(INSTALLER) install --quiet --constraint constraints.txt
PERF   := countdown endings equality hostile marking overhead summary view  # scale needs Ray (`make setup-all`); the rest of perf/ are servers and clients

WORKERS ?= 3  # processes that share the tests: on two cores one of them mostly waits for a server
FUZZ_SECONDS ?= 0

.PHONY: demo setup setup-all test fuzz lint perf docs

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "markscheme needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

# Stamps, so that a second call starts at once and a changed dependency list installs again.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[plots]'
	touch $@

$(VENV)/.ready: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[dev]'
	touch $@ $(VENV)/.installed

# torch first: with everything else beside it pip may take a build with gigabytes of CUDA libraries.
$(VENV)/.ready-all: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) torch
	$(PIP) -e '.[dev,all]'
	touch $@ $(VENV)/.ready $(VENV)/.installed

setup: $(VENV)/.ready

setup-all: $(VENV)/.ready-all

demo: $(VENV)/.installed
	rm -rf runs/demo
	$(BIN)/markscheme run countdown-sample --model nano -n 16 -k 1,2,4,8,16 --out runs/demo
	$(BIN)/markscheme report runs/demo --format markdown -o runs/demo/report.md --plots runs/demo/plots
	@echo "nano is a demonstration model: it plays Countdown and can do nothing else (docs/nano.md)"
	@echo "every response, in the browser: $(BIN)/markscheme view runs/demo"

# Bytecode is kept whatever the environment says: some hundred commands are started, and each would compile the package.
test: export PYTHONDONTWRITEBYTECODE =
test: setup
	$(BIN)/python -m pytest -q -n $(WORKERS)

fuzz: setup
	$(BIN)/python tests/support/fuzz.py --seconds $(FUZZ_SECONDS) --workers $(WORKERS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/api/typed_script.py
	$(BIN)/lint-imports --config contracts.toml
	$(BIN)/python tests/support/plain_english.py

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[docs]'
	touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

perf: setup
	for name in $(PERF); do $(BIN)/python perf/$$name.py || exit 1; done
	$(BIN)/python perf/coverage.py --quick  # all of it takes some minutes
