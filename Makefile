# `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

# python3 if this package supports its version, else the newest supported Python that starts.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then echo $$python; break; fi; done)
VENV ?= .venv
# LOCKED=1 installs the versions of constraints.txt.
LOCKED ?=
# The data set of results-*: a folder, and the language pair of MLQE-PE (such as en-de) or the beginning of the names of the CoNLL
# files (such as esp, ned, eng or deu).
DATA ?=
LANGUAGE ?=
# Options of benchmarks/speed.py.
BENCH ?=

RUN := $(VENV)/bin/python -m
PIP := $(RUN) pip install --disable-pip-version-check --no-input
PYTEST := OMP_NUM_THREADS=1 $(RUN) pytest -n 2 --dist worksteal
MARK := $(VENV)/.allennlp_nef$(if $(LOCKED),-locked)
ifdef LOCKED
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
endif
CONFIG := qe_nef_f
FOLDER := runs/$(CONFIG)

.PHONY: help install train ruff lint format test test-all browser docs bench clean

help:
	@echo 'make install      a virtual environment with the package and what the tests use (LOCKED=1: the versions of constraints.txt)'
	@echo 'make train        train NEF-F on the fixtures, evaluate it, print three tagged sentences'
	@echo 'make test         linters, types, and all tests but the slow ones'
	@echo 'make test-all     all tests; installs Chromium for those in a browser (as root, on Debian)'
	@echo 'make docs         the documentation, in build/docs'
	@echo 'make bench        the speed, compared with taggers of AllenNLP (BENCH="--json FILE")'
	@echo 'make lint         ruff and mypy'
	@echo 'make format       fix and format the code with ruff'
	@echo 'make results-TASK the results of qe, pos, ner and other tasks of benchmarks/results.py (DATA=FOLDER LANGUAGE=en-de)'
	@echo 'make clean        remove caches, runs, and the environment if it was created here'
	@echo
	@echo 'All targets install first if needed. Variables: PYTHON=$(PYTHON) VENV=$(VENV)'

install: $(MARK)

$(MARK): pyproject.toml setup.py $(if $(LOCKED),constraints.txt)
	@if [ -z "$(PYTHON)" ]; then echo 'make needs Python 3.11, 3.12, 3.13 or 3.14: install one, or set PYTHON=PROGRAM' >&2; exit 2; fi
	@if [ -e "$(VENV)" ] && [ ! -x "$(VENV)/bin/python" ]; then \
		echo '$(VENV) is not a virtual environment: set VENV=FOLDER, or remove it' >&2; exit 2; fi
	if [ ! -e "$(VENV)" ]; then $(PYTHON) -m venv "$(VENV)"; touch "$(VENV)/.created_by_make"; fi
	$(PIP) -e '.[dev]'
	$(PIP) --no-deps allennlp==2.10.1 allennlp-server==1.0.0 cached-path==1.8.10
	@touch $@

train: export PATH := $(abspath $(VENV))/bin:$(PATH)
train: export ALLENNLP_LOG_LEVEL ?= WARNING
train: install
	allennlp train training_configs/$(CONFIG).jsonnet --include-package allennlp_nef -s $(FOLDER) --force
	allennlp evaluate $(FOLDER)/model.tar.gz fixtures/qe/test --include-package allennlp_nef --output-file $(FOLDER)/test_metrics.json
	allennlp predict $(FOLDER)/model.tar.gz fixtures/qe/test --include-package allennlp_nef --use-dataset-reader --silent \
		--predictor-args '{"output_format": "text"}' --output-file $(FOLDER)/test_tagged.txt
	@echo; echo 'Scores on the test set:'; cat $(FOLDER)/test_metrics.json; echo; echo
	@echo 'Three test sentences, with words judged wrong marked /BAD:'; head -n 3 $(FOLDER)/test_tagged.txt

ruff: install
	$(RUN) ruff check .
	$(RUN) ruff format --check .

lint: ruff
	$(RUN) mypy

format: install
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

# mypy runs beside the tests, and its report follows theirs.
define run_tests
@report=$$(mktemp); $(RUN) mypy >$$report 2>&1 & mypy=$$!; failed=0; \
$(PYTEST) $(1) || failed=1; \
wait $$mypy || failed=1; echo mypy:; cat $$report; rm $$report; exit $$failed
endef

test: ruff
	$(call run_tests,-m 'not slow')

test-all: ruff browser
	$(run_tests)

# Without Chromium, the tests in a browser are skipped.
browser:
	@if ! command -v chromedriver >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver; fi

docs: install
	$(RUN) mkdocs build --strict

bench: install
	$(VENV)/bin/python benchmarks/speed.py $(BENCH)

results-%: install
	@if [ -z "$(DATA)" ]; then echo 'results-*: set DATA=FOLDER, see make help' >&2; exit 2; fi
	$(VENV)/bin/python benchmarks/results.py $* --data "$(DATA)" $(if $(LANGUAGE),--language $(LANGUAGE))

clean:
	rm -rf runs build .mypy_cache .pytest_cache .ruff_cache .hypothesis allennlp_nef.egg-info
	find allennlp_nef tests fixtures -name __pycache__ -type d -prune -exec rm -rf {} +
	if [ -e "$(VENV)/.created_by_make" ]; then rm -rf "$(VENV)"; fi
