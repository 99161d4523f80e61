# recalld: what its developers run. `make` lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2
PINNED := --extra embedded --extra openvino --extra cloud --extra evaluate --extra mcp --extra pdf --extra web --extra tracing --extra tui
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench results pictures config constraints clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(STAMP): constraints.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "recalld needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

demo: $(STAMP) ## the whole story on a throw-away daemon: no services, no keys, no downloads but packages
	$(BIN)/recall demo

test: $(STAMP) ## every test, against embedded Postgres and NATS servers; a file's tests run in one of WORKERS processes
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(STAMP) ## lint, format, types, import contracts, dead code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture

format: $(STAMP) ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## every figure with its baseline from the same run
	$(BIN)/python -m tests.bench

results: $(STAMP) ## write docs/results.json and docs/results.md: scores on public question sets
	$(BIN)/python -m tests.bench.results

pictures: $(STAMP) ## draw the dashboard's screens into docs/pictures, before a throw-away daemon
	$(BIN)/python -m tests.pictures

config: $(STAMP) ## write config/recalld.toml from the settings' declarations
	$(BIN)/python -m recalld.settings_reference > config/recalld.toml

constraints: ## pin what is installed: versions and hashes; all extras but finetune, which is gigabytes
	$(PYTHON) -m venv $(VENV)-pin
	$(VENV)-pin/bin/pip install --quiet uv
	$(VENV)-pin/bin/uv pip compile --quiet --universal --python-version 3.11 $(PINNED) --group dev \
		--generate-hashes --no-header --no-annotate --output-file constraints.txt pyproject.toml
	rm -r $(VENV)-pin

clean: ## remove what the targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
