# Every target sets up .venv by itself when it is missing or out of date.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help bench demo toy test test-slow test-portable mutants reliability lint format lock clean
help:            ## say what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 14

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "pxsgmcmc needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV) (a minute or two)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)   ## SGHMC and PX-SGHMC on digits, with a table and a report; a few minutes
	@$(BIN)/pxsgmcmc demo

toy: $(READY)    ## the samplers on a toy with 25 modes
	$(BIN)/python examples/mixture25.py

test: $(READY)   ## the default suite, a few minutes on two cores
	$(BIN)/python -m pytest -n 2 --dist worksteal --quick-compile -m 'not slow'

test-slow: $(READY)  ## the long proofs as well
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

test-portable: $(READY)  ## the tests of numbers as other processors would run them (15 minutes)
	$(BIN)/python -m tests.portable

bench: $(READY)   ## measure steps side by side and write docs/performance.md (half an hour, alone)
	$(BIN)/python benchmarks/bench.py

mutants: $(READY)  ## wrong edits of the library, one at a time: do the tests notice each of them?
	$(BIN)/python -m tests.mutants

reliability: $(READY)  ## run the long proofs of reliability and write their table into docs/
	$(BIN)/python benchmarks/reliability.py

lint: $(READY)   ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(READY) ## put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(READY)   ## write the versions in use to constraints.txt, and their hashes to requirements.lock
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt
	$(BIN)/python .ci/lock.py

clean:           ## remove what was built
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build dist
