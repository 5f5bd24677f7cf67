# Needs make, a POSIX shell and Python 3.11 or newer with venv. Each target sets up what it needs, once.
# ARGS="..." is handed on: make run ARGS="--port 18789", make test ARGS="-k health -x".

ARGS ?=
PYTHON ?=
export PYTHON

DEV := .venv/bin/python -m
UV := $(shell command -v uv 2>/dev/null)

.PHONY: help run test test-long outages lint format types coverage bench wheel lock setup setup-run clean
.DEFAULT_GOAL := help

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | awk -F '\t' '{ printf "make %-10s %s\n", $$1, $$2 }'

run: setup-run ## the demo: run-time dependencies only (in .venv-run)
	@exec .venv-run/bin/python -m standby demo $(ARGS)

test: setup ## the quick suite
	@$(DEV) pytest -m "not long" --benchmark-skip $(ARGS)

test-long: setup ## every test, larger sizes
	@STANDBY_TEST_SIZE=long $(DEV) pytest --benchmark-skip --timeout=1800 $(ARGS)

outages: setup ## the outage catalogue in real time, as a table (ARGS=--quick: against short limits)
	@STANDBY_TEST_SIZE=long $(DEV) tests.outages $(ARGS)

lint: setup ## ruff: rules and format
	@$(DEV) ruff check src tests
	@$(DEV) ruff format --check src tests

format: setup ## ruff: mend what can be mended
	@$(DEV) ruff check --fix src tests
	@$(DEV) ruff format src tests

types: setup ## mypy, strict, tests too
	@$(DEV) mypy

coverage: setup ## every branch of the core and the engine, or it fails
	@$(DEV) pytest -m "not long" --benchmark-skip --cov --cov-report= $(ARGS)
	@$(DEV) coverage report --skip-covered --fail-under=0
	@$(DEV) coverage report --show-missing --fail-under=100 --include='src/standby/core/*,src/standby/engine.py'

bench: setup ## the benchmarks
	@$(DEV) pytest benchmarks --benchmark-only $(ARGS)

wheel: setup ## dist/*.whl, built with the locked backend
	@$(DEV) pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

setup: ## the tools' environment (.venv) from requirements/dev.txt
	@sh requirements/install.sh .venv requirements/dev.txt

setup-run:
	@sh requirements/install.sh .venv-run requirements/run.txt

# uv writes the locks (one for all systems and Pythons); pip alone installs from them.
lock: ## compile requirements/*.txt anew from pyproject.toml (keeps what is locked: ARGS=--upgrade to move)
	@uv="$(UV)"; if [ -z "$$uv" ]; then \
		python3 -m venv .venv-lock && .venv-lock/bin/pip install --quiet uv && uv=.venv-lock/bin/uv || exit 1; fi; \
	compile() { "$$uv" pip compile pyproject.toml --quiet --no-config --universal --python-version 3.11 \
		--only-binary :all: --generate-hashes --no-annotate --custom-compile-command "make lock" $(ARGS) "$$@" >/dev/null; }; \
	compile --output-file requirements/run.txt && \
	compile --output-file requirements/dev.txt --all-extras --constraint requirements/run.txt

clean: ## remove environments, caches and build results
	@rm -rf .venv .venv-run .venv-lock build dist .coverage htmlcov .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
