# One Makefile for people and for CI. Each target sets up .venv by itself on first use.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NS3 := .venv-ns3
STUDY_OUT ?= out/study

.DEFAULT_GOAL := help
.PHONY: help install study test lint bench bench-ns3 docs clean

help: ## list the targets
	@echo "Thyme: time-aware reactive storage for crowds of devices with no infrastructure"
	@echo
	@grep -E '^[a-z0-9-]+:.*## ' Makefile | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | awk -F '\t' '{ printf "  make %-10s %s\n", $$1, $$2 }'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Thyme needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; set PYTHON=/path/to/python3.11")'
	@echo "Setting up $(VENV): a virtual environment with Thyme and its pinned dependencies (about 1 GB, some minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --constraint constraints.txt --editable '.[dev,bench]' | grep -E --line-buffered '^(Collecting|  Downloading|Installing|Successfully|ERROR)' | cut -c 1-110
	@$(BIN)/thyme --version
	@touch $(STAMP)

install: $(STAMP) ## set up .venv with Thyme and everything it needs

study: $(STAMP) ## run the main job on embedded defaults: posts to report, in out/study
	$(BIN)/thyme study --preset quick --out $(STUDY_OUT)

test: $(STAMP) ## run all tests
	$(BIN)/python -m pytest

lint: $(STAMP) ## style, types and import rules
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP) ## run the benchmarks (beside ns-3 if `make bench-ns3` was run once)
	$(BIN)/thyme bench all

bench-ns3: ## set up ns-3 in an environment of its own, to compare with
	@echo "Setting up $(NS3): ns-3 from PyPI, which builds its Python bindings (some minutes)"
	@test -x $(NS3)/bin/python || $(PYTHON) -m venv $(NS3)
	@$(NS3)/bin/python -m pip install --disable-pip-version-check ns3

clean: ## remove what was built, measured and installed here
	rm -rf $(VENV) $(NS3) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
