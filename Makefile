# `make` alone lists what there is. Every target makes .venv first when it is absent or older than pyproject.toml.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench bench-plots bench-retrieval conformance torture docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) ## run the example: a short life of one memory, no model and no network needed
	$(BIN)/python examples/demo.py

test: $(STAMP) ## run the tests, in parallel
	$(BIN)/pytest -n $(WORKERS)

check: $(STAMP) ## formatting, lint, types, and who imports whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(STAMP) ## format the code and mend what lint can mend
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(STAMP) ## measure speed and size; prints a table, writes .bench/*.json
	$(BIN)/pytest tests/bench -m bench -s --timeout=0

bench-plots: $(STAMP) ## draw what `make bench` kept into docs/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'matplotlib>=3.10,<4'
	$(BIN)/python -m tests.bench.plots

bench-retrieval: $(STAMP) ## measure what is found; prints a table, writes .bench/*.jsonl with every question
	$(BIN)/pytest tests/bench/test_finding.py -m finding -s --timeout=0

conformance: $(STAMP) ## run the protocol's own conformance suite (needs Node and npm)
	bash tests/conformance/run.sh

torture: $(STAMP) ## run the slow tests only: crashes, many processes, many random points
	HYPOTHESIS_PROFILE=torture $(BIN)/pytest -m slow --timeout=1800

docs: $(STAMP) ## write docs/events.md and docs/tools.md anew from the code
	$(BIN)/python docs/generate.py

clean: ## remove .venv, caches and build output
	rm -rf $(VENV) .bench .tools .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first Python that is new enough: $(PYTHON), else a versioned one.
$(STAMP): pyproject.toml
	@set -e; \
	for python in "$(PYTHON)" python3.13 python3.12 python3.11; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "making $(VENV) with $$python"; \
	    "$$python" -m venv $(VENV); \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	    touch $@; \
	    exit 0; \
	  fi; \
	done; \
	echo "pmm-mcp needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3" >&2; \
	exit 1
