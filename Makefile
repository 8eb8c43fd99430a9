# make demo: set up, compile a bundled model, run it on an emulated Cortex-M4, verify it.
# make test: set up everything the tests need, then run the quick ones; make test-all: every one.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo
LOCK := requirements/test.lock
INSTALL := $(BIN)/pip install --quiet --constraint $(LOCK)
# Without bytecode on the disk each process compiles Mote's Python anew: 1.7 CPU seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-frontends test-rest test-turn frontends fuzz prove misra measure layers tried docs lint types tools lock clean

demo: $(VENV)/demo
	@$(BIN)/mote inspect models/keywords.tflite
	@echo
	@$(BIN)/mote compile models/keywords.tflite --target cortex-m4 --output $(DEMO)
	@echo
	@$(BIN)/mote run models/keywords.tflite --target cortex-m4
	@echo
	@$(BIN)/mote verify models/keywords.tflite --target cortex-m4
	@echo
	@$(BIN)/python examples/recognise/recognise.py
	@echo
	@echo "The C is in $(DEMO): keywords.h is its manual, keywords.c the model."

# The quick suite: the rooms that are always tested and those of the change, without what is slow. tests/README.md.
SUITES := $(BIN)/python -m tests.suites
UNTIL ?= inf
test: $(VENV)/test tools
	$(SUITES) quick

# Every case of every test, an hour or two; a run that was stopped goes on where it was: `make test-all OPTIONS=--again`
# begins anew, `make test-all OPTIONS=tests/compiler/plan` is a room.
OPTIONS ?=
test-all: $(VENV)/test tools
	$(SUITES) all $(OPTIONS)
	$(if $(filter-out --again,$(OPTIONS)),,$(MAKE) test-frontends)

# The tests of front ends that need packages which few have: Keras, torchao, XGBoost, LightGBM, exporters to ONNX.
test-frontends: frontends tools
	$(SUITES) frontends $(OPTIONS)

# The rooms that `make test` left out, without what is slow.
test-rest: $(VENV)/test tools
	$(SUITES) rest --until $(UNTIL)

# A part of what `make test` leaves out, slow or not, another one with every commit; nothing begins after UNTIL, in seconds since
# 1970.
test-turn: $(VENV)/test tools
	$(SUITES) turn --until $(UNTIL)

# What tests and benchmarks import from each other.
CHECKER := PYTHONPATH=.:models:benchmarks $(BIN)/python

# Mutants of models and of all other documents, of answers of boards and of saved states (see tests/fuzz), of images (tests/compiler/emit/image/damaged.py) and of command streams (tests/hardware/npu/fuzz.py),
# then the property tests on other random examples than those of `make test`.
FUZZ ?= --minutes 20 --jobs 2
MUTANTS ?= 2000
DAMAGED ?= --minutes 10
STREAMS ?= --minutes 5
fuzz: $(VENV)/test tools
	$(CHECKER) -m tests.fuzz $(FUZZ)
	$(CHECKER) -m tests.fuzz --format onnx $(FUZZ)
	$(CHECKER) -m tests.fuzz --format documents $(FUZZ)
	$(CHECKER) -m tests.compiler.kernels.rooms_seen --mutants $(MUTANTS)
	$(CHECKER) -m tests.compiler.emit.image.damaged $(DAMAGED)
	$(CHECKER) -m tests.hardware.npu.fuzz $(STREAMS)
	MOTE_FUZZ=1 $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/compiler/kernels tests/ir/ops tests/compiler/plan tests/frontends \
		tests/deploy/update tests/deploy/agent tests/frontends/data tests/bench/metrics tests/hardware/npu tests/numerics tests/compiler/passes \
		tests/compiler/offload/ethos_u

# Proofs with Frama-C that generated C has no run-time error, whatever the inputs: docs/trust/assurance.md.
PROOF := $(CHECKER) benchmarks/prove.py
prove: $(VENV)/test tools
	$(PROOF)
	$(PROOF) models/digits.tflite --mode layers --mode rows --mode pushed --mode "caller arena"
	$(PROOF) models/keywords.tflite --mode rows
	$(CHECKER) benchmarks/prove_image.py

# Deviations from MISRA C:2012, in docs/trust/misra.md.
misra: $(VENV)/test tools
	$(CHECKER) benchmarks/misra.py --write

# Cost tables, the lock, hashes of generated C, every table and every quoted output of the docs, measured again: an hour
# on two cores. MODELS is the folder of the published models (docs/measure/benchmarks.md).
measure: $(VENV)/test tools
	@test -d '$(MODELS)' || { echo 'make measure MODELS=FOLDER: the folder of the published models'; exit 2; }
	$(CHECKER) benchmarks/fit_costs.py --core all --update
	$(CHECKER) benchmarks/lock.py --update
	$(CHECKER) benchmarks/fingerprints.py --update
	$(CHECKER) benchmarks/doc_tables.py --models '$(MODELS)'
	$(CHECKER) benchmarks/quotes.py --update

# Every kind of layer against the limit of its core, in emulators: docs/measure/layers.md, half an hour on two cores.
# CMSIS_NN_PATH=FOLDER make layers LAYERS='--update --cmsis-nn' measures CMSIS-NN beside it.
LAYERS ?= --update
layers: $(VENV)/test tools
	$(CHECKER) benchmarks/layers.py $(LAYERS)

# The site of docs/, in build/site: open index.html, no server is needed.
docs: $(VENV)/test
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# What is tried to break Mote, and how often: the table of SECURITY.md.
tried: $(VENV)/test
	@$(CHECKER) benchmarks/tried.py

lint: $(VENV)/test
	$(BIN)/ruff check src tests models benchmarks examples docs/_site
	$(BIN)/ruff format --check src tests models benchmarks examples docs/_site

types: $(VENV)/test
	$(BIN)/mypy

# Compilers and emulators from the system's packages, where there is a package manager and the right to use it, unless
# MOTE_NO_INSTALL is set. Without them the tests that need them skip and say so.
tools:
	@sh scripts/install-tools

$(VENV)/demo: pyproject.toml $(LOCK)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[demo]'
	command -v arm-none-eabi-gcc > /dev/null || $(INSTALL) --editable '.[zig]'
	@touch $@

$(VENV)/test: pyproject.toml $(LOCK)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[test]'
	@touch $@

frontends: $(VENV)/frontends
$(VENV)/frontends: $(VENV)/test
	$(INSTALL) --editable '.[frontends]'
	@touch $@

# The newest versions of what the tests use, within the bounds of pyproject.toml; run the tests with them before a commit.
# TFLite Micro is omitted: its nightly builds do not stay on the index.
lock:
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/pip install --quiet --editable '.[frontends,compare]'
	{ echo '# What the tests run with, as constraints of pip. `make lock` writes it anew.'; \
	  build/lock/bin/pip freeze --exclude-editable | grep -v '^tflite-micro' | sed 's/+cpu$$//'; } > $(LOCK)

clean:
	rm -rf $(VENV) build
