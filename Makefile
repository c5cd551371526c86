# One Makefile for people and for CI. Each target sets up of .venv what it needs, on first use.
SHELL := /bin/sh
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WITH_STUDY := $(VENV)/.study
WITH_GALLERY := $(VENV)/.gallery
DEV := $(VENV)/.dev
BENCH := $(VENV)/.bench
NS3 := .venv-ns3
STUDY_OUT ?= out/study
GALLERY ?= --demo --open
# How many processes run tests: two more than there are cores, since some tests wait for live nodes.
JOBS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')

# `$(call setup,extras)` installs Thyme with these extras at the pinned versions. The installer's output goes to a log,
# and only what is being fetched is shown, or the end of the log if something failed.
setup = @log=$(VENV)/install.log; \
	{ $(BIN)/python -m pip install --disable-pip-version-check --no-input --progress-bar off --constraint constraints.txt --editable '.$(1)' 2>&1; echo "pip ended with $$?"; } \
	| tee $$log | grep -E --line-buffered '^(Collecting|Installing) ' | cut -c 1-100; \
	tail -n 1 $$log | grep -qx 'pip ended with 0' || { tail -n 20 $$log >&2; echo "The set-up failed; all of it is in $$log" >&2; exit 1; }

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install develop study gallery figures map docs docs-serve reproduce reproduce-quick test search check lint bench bench-ns3 spark-archive clean

help: ## list the targets
	@echo "Thyme: time-aware reactive storage for crowds of devices with no infrastructure"
	@echo
	@grep -E '^[a-z0-9-]+:.*## ' Makefile | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | awk -F '\t' '{ printf "  make %-15s %s\n", $$1, $$2 }'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Thyme needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; set PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv $(VENV)

$(WITH_GALLERY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up $(VENV): a virtual environment with a node and its gallery (0.15 GB)"
	$(call setup,[gallery])
	@touch $(WITH_GALLERY)

$(WITH_STUDY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up $(VENV): a virtual environment with Thyme and what studies need (1.5 GB, some minutes the first time)"
	$(call setup,[study])
	@$(BIN)/thyme --version
	@echo "Keeping Spark's classes ready, which halves its start (once, 0.2 GB in the user's cache)"
	@$(BIN)/python -m thyme.pipeline.spark.class_archive || echo "Spark will start more slowly"
	@touch $(WITH_STUDY)

$(DEV): $(WITH_STUDY)
	@echo "Adding what tests and checks need (0.2 GB)"
	$(call setup,[dev])
	@touch $(DEV)

$(BENCH): $(WITH_STUDY)
	@echo "Adding the engines to compare with (0.2 GB)"
	$(call setup,[bench])
	@touch $(BENCH)

install: $(WITH_STUDY) $(WITH_GALLERY) ## set up .venv with Thyme and all that it needs to run

develop: $(DEV) $(BENCH) ## set up .venv with all that tests and checks need too

study: $(WITH_STUDY) ## run the main job on embedded defaults: posts to report, in out/study
	$(BIN)/thyme study --preset fanzone --out $(STUDY_OUT)

gallery: $(WITH_GALLERY) ## the shared photo gallery in the browser, with an emulated crowd (GALLERY= for none)
	$(BIN)/thyme gallery $(GALLERY)

# Everything that the papers evaluate, in out/reproduce; finished runs are not repeated (docs/lab/reproduction.md).
EVALUATIONS := thyme-analysis devices walks socialcast drip thyme-static thyme-crash thyme-transient thyme-mobile
REPRODUCED ?= out/reproduce

reproduce: $(WITH_STUDY) ## run all evaluations of the papers (about thirty hours; continues after an interruption)
	@for name in $(EVALUATIONS); do $(BIN)/thyme study --preset $$name --out $(REPRODUCED)/$$name || exit 1; done

SMALL := --set topologies=1 --set repetitions=1
reproduce-quick: $(WITH_STUDY) ## run a small part of each evaluation (half an hour at most on two cores)
	$(BIN)/thyme study --preset thyme-analysis --set 'sizes=[16,36]' --set topologies=1 --out $(REPRODUCED)/quick-analysis
	$(BIN)/thyme study --preset devices --set 'nodes=[2,8]' --set seconds=10 --out $(REPRODUCED)/quick-devices
	$(BIN)/thyme study --preset walks --set networks=5 --set draws=2 --set 'sizes=[1000]' --out $(REPRODUCED)/quick-walks
	$(BIN)/thyme study --preset socialcast --set repetitions=1 --set 'figures=["3","6","7"]' --out $(REPRODUCED)/quick-socialcast
	$(BIN)/thyme study --preset drip --set repetitions=1 --set 'figures=["4"]' --set duration_s=100 --out $(REPRODUCED)/quick-drip
	$(BIN)/thyme study --preset thyme-static --set 'nodes=[16,36]' $(SMALL) --out $(REPRODUCED)/quick-static
	$(BIN)/thyme study --preset thyme-crash --set nodes=36 --set 'failing=[0.1,0.5]' $(SMALL) --out $(REPRODUCED)/quick-crash
	$(BIN)/thyme study --preset thyme-transient --set nodes=36 --set 'failing=[0.05,0.4]' $(SMALL) --out $(REPRODUCED)/quick-transient
	$(BIN)/thyme study --preset thyme-mobile --set nodes=36 --set 'speed_mps=[1.0,12.0]' $(SMALL) --out $(REPRODUCED)/quick-mobile

figures: $(WITH_STUDY) ## draw the decision map anew from its table
	$(BIN)/thyme study map --figure docs/figures/decision.png && rm docs/figures/decision.svg
	$(BIN)/thyme study map --narrow --figure docs/figures/decision_narrow.png && rm docs/figures/decision_narrow.svg
	$(BIN)/thyme study map --whole --figure docs/figures/decision_whole.png && rm docs/figures/decision_whole.svg
	$(BIN)/thyme study map --whole --narrow --figure docs/figures/decision_whole_narrow.png && rm docs/figures/decision_whole_narrow.svg

map: $(WITH_STUDY) ## run what the decision map misses (hours; continues after an interruption)
	$(BIN)/thyme study map --play out/map --table src/thyme/approaches/decision.csv

docs: $(DEV) ## build the documentation site, in out/docs/site (needs no network; open index.html)
	$(BIN)/python docs/build_site.py out/docs

docs-serve: docs ## show the documentation site at http://localhost:8000
	$(BIN)/python -m http.server --bind localhost --directory out/docs/site 8000

test: $(DEV) $(BENCH) ## run all tests, on all cores (JOBS=2: by two processes)
	$(BIN)/python -m pytest -n $(JOBS)

search: $(DEV) $(BENCH) ## run all tests with examples drawn afresh, as often as you like (WHERE=tests/model for a part)
	THYME_EXAMPLES=search $(BIN)/python -m pytest -n $(JOBS) $(WHERE)

check: lint ## lint, and the quick tests (no Spark, nothing compiled): for while you edit
	$(BIN)/python -m pytest -q -n $(JOBS) -m 'not spark and not compiled and not long'

lint: $(DEV) $(BENCH) ## style, types and import rules
	$(BIN)/ruff check src benchmarks tests docs/build_site.py
	$(BIN)/ruff format --check src benchmarks tests docs/build_site.py
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH) ## run the benchmarks (beside ns-3 if `make bench-ns3` was run once)
	$(BIN)/python -m benchmarks all

bench-ns3: ## set up ns-3 in an environment of its own, to compare with
	@echo "Setting up $(NS3): ns-3 from PyPI, which builds its Python bindings (some minutes)"
	@test -x $(NS3)/bin/python || $(PYTHON) -m venv $(NS3)
	@$(NS3)/bin/python -m pip install --disable-pip-version-check ns3

spark-archive: $(WITH_STUDY) ## Thyme with its dependencies for spark-submit, in dist (docs/guides/cluster.md)
	$(BIN)/python -m thyme.pipeline.spark.archive dist

clean: ## remove what was built, measured and installed here
	rm -rf $(VENV) $(NS3) out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse
	find src benchmarks tests -name __pycache__ -type d -prune -exec rm -rf {} +
