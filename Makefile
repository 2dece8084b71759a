# Set-up, demo and tests. Written for GNU Make 3.81 and BSD tools, so that a
# fresh Mac needs nothing but Python and the Command Line Tools.

SHELL = /bin/sh
.SUFFIXES:

VENV = .venv
BIN = $(VENV)/bin
# Each stamp stands for a finished installation; a newer pyproject.toml redoes it.
RUN_STAMP = $(VENV)/.stamp-run
DEV_STAMP = $(VENV)/.stamp-dev
PYTEST_ARGS =

# An environment holds absolute paths and a link to a Python: after a move of the folder,
# or an upgrade of that Python, it is made anew.
HERE := $(shell pwd -P)
MADE_FOR := $(shell $(BIN)/python -c '' 2>/dev/null && cat $(VENV)/.made-for 2>/dev/null)
ifneq ($(MADE_FOR),$(HERE))
STALE = stale
endif

.PHONY: help demo test check fmt real blas env clean stale

help:
	@echo 'make demo    run the built-in pair: standard and speculative decoding compared'
	@echo 'make test    run every test'
	@echo 'make check   formatting, lint, types and import contracts'
	@echo 'make fmt     format the code and apply safe lint fixes'
	@echo 'make real    fetch the real weights that tests/real uses (about 93 MB)'
	@echo 'make blas    find or build a fast BLAS (Linux only; part of the set-up)'
	@echo 'make env     only the virtual environment, with the development tools'
	@echo 'make clean   remove the virtual environment and the tool caches'
	@echo
	@echo 'demo and test make .venv themselves; where nothing changed that is a no-op.'
	@echo 'With an NVIDIA card: make clean, then MLX_SPECDEC_CUDA=1 make demo'

# On a terminal the app opens; in a pipe the race is printed.
demo: $(RUN_STAMP)
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/mlx-specdec demo; else $(BIN)/mlx-specdec demo --plain; fi

# The real weights are a bonus: without a network the tests say "real: not run".
test: $(DEV_STAMP)
	@$(MAKE) -s real || echo 'make test: the real weights could not be fetched; tests/real will say "real: not run"'
	@$(BIN)/python -m pytest --numprocesses=auto $(PYTEST_ARGS)

check: $(DEV_STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fmt: $(DEV_STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

real: $(DEV_STAMP)
	@$(BIN)/python scripts/fetch_smollm2.py

blas: $(RUN_STAMP)
	@$(BIN)/python scripts/build_blas_shim.py

env: $(DEV_STAMP)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN_STAMP): pyproject.toml scripts/setup_env.sh scripts/build_blas_shim.py $(STALE)
	@sh scripts/setup_env.sh $(VENV) run
	@$(BIN)/python scripts/build_blas_shim.py
	@touch $@

$(DEV_STAMP): $(RUN_STAMP)
	@sh scripts/setup_env.sh $(VENV) dev
	@touch $@
