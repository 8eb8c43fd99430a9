# make demo: set up, compile a bundled model, run it on an emulated Cortex-M4, verify it.
# make test: set up everything the tests need, then run them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo

.PHONY: demo test fuzz lint types tools clean

demo: $(VENV)/demo
	@$(BIN)/mote inspect models/keywords.tflite
	@echo
	@$(BIN)/mote compile models/keywords.tflite --target cortex-m4 --output $(DEMO)
	@echo
	@$(BIN)/mote run models/keywords.tflite --target cortex-m4
	@echo
	@$(BIN)/mote verify models/keywords.tflite --target cortex-m4
	@echo
	@echo "The C is in $(DEMO): keywords.h is its manual, keywords.c the model."

test: $(VENV)/test tools
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --durations 15

# The property tests on other random examples than those of `make test`.
fuzz: $(VENV)/test tools
	MOTE_FUZZ=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/kernels tests/ops tests/plan tests/frontends

lint: $(VENV)/test
	$(BIN)/ruff check src tests models benchmarks
	$(BIN)/ruff format --check src tests models benchmarks

types: $(VENV)/test
	$(BIN)/mypy

# Compilers and emulators from the system's packages, where there is a package manager and the right to use it.
# Without them the tests that need them skip and say so.
tools:
	@sh scripts/install-tools

$(VENV)/demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[demo]'
	@touch $@

$(VENV)/test: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) build
