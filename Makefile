# Every target makes the environment it needs in .venv, once, and again when pyproject.toml or
# constraints.txt change. ARGS go to the command: make demo ARGS="--help"

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

# Without these, Linux hands the memory of every forward back to the kernel, and most of the time
# goes to page faults. Other systems ignore them.
KEEP_MEMORY := MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456

# Every notebook in a kernel of its own, offline; a cell that fails or a checked output that differs fails.
# loadscope keeps the cells of a notebook together.
NOTEBOOKS := --nbval-lax --nbval-current-env --nbval-cell-timeout=120 --nbval-kernel-startup-timeout=120 \
  --nbval-sanitize-with tests/notebooks/sanitize.cfg -p tests.notebooks.kernel --numprocesses 2 --dist loadscope

# The engine's rooms, each with tests of its own.
ROOMS := lm decode propose pool trace

.DEFAULT_GOAL := help
.PHONY: help demo lab app test lint coverage bench clean

help:  ## show this list
	@echo "make TARGET [ARGS=\"...\"] [PYTHON=python3.12]"
	@sed -n 's/^\([a-z]*\):.*  ## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-8s %s\n", $$1, $$2 }'

demo: $(VENV)/.core  ## step through Ouroboros on the embedded model pair
	$(KEEP_MEMORY) $(BIN)/phrasekit demo $(ARGS)

lab: $(VENV)/.notebook  ## open the notebooks in JupyterLab
	$(KEEP_MEMORY) $(BIN)/jupyter lab --notebook-dir=notebooks $(ARGS)

app: $(VENV)/.app  ## open the dashboard in a browser
	$(KEEP_MEMORY) $(BIN)/phrasekit app $(ARGS)

test: lint  ## lint, then run every test and notebook (what CI runs)
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal $(ARGS)
	$(if $(ARGS),,$(BIN)/python -m pytest $(NOTEBOOKS) notebooks)

lint: $(VENV)/.test  ## ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=apps $(BIN)/lint-imports

coverage: $(VENV)/.test  ## lines that the tests of the engine's rooms run; under 95 % is red
	$(BIN)/python -m pytest $(ROOMS:%=tests/%) tests/engine tests/test_check.py -m "not slow" \
	  $(ROOMS:%=--cov=phrasekit.%) --cov-report= $(ARGS)
	for room in $(ROOMS); do \
	  $(BIN)/coverage report --include="phrasekit/$$room/*" --fail-under=95 || exit 1; done

bench: $(VENV)/.bench  ## measure every method against transformers and other packages
	$(KEEP_MEMORY) $(BIN)/phrasekit bench $(ARGS)

clean:  ## remove the environment, caches and builds
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis .coverage htmlcov mutants
	find phrasekit tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "phrasekit needs Python 3.11 or newer; '$(PYTHON)' was not found. Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "phrasekit needs Python 3.11 or newer; '$(PYTHON)' is not that: $$($(PYTHON) --version 2>&1 | head -1). Name another: make PYTHON=python3.11" >&2; exit 1; }
	@echo "making the environment in $(VENV) (a few minutes the first time)"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

$(VENV)/.notebook: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[notebook]'
	@touch $@ $(VENV)/.core

$(VENV)/.bench: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[bench]'
	@touch $@ $(VENV)/.core

$(VENV)/.app: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[app]'
	@touch $@ $(VENV)/.core

$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[test,dev]'
	@touch $@ $(VENV)/.core
