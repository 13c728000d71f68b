# `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

# python3 where the package runs on its version, else the newest Python that is found and starts.
PYTHONS := python3 python3.14 python3.13 python3.12 python3.11
PYTHON ?= $(shell for python in $(PYTHONS); do \
	if $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then echo $$python; break; fi; done)
VENV ?= .venv
# LOCKED=1 installs the versions of constraints.txt.
LOCKED ?=
# Folders of the data sets that the results-* targets read; the language pair of MLQE-PE where the folder has several, such as
# en-de; and what the names of the CoNLL files begin with, such as esp, ned, eng or deu.
QE_DATA ?=
QE_LANGUAGE ?=
POS_DATA ?=
NER_DATA ?=
NER_LANGUAGE ?= esp
# Options of benchmarks/speed.py, or of benchmarks/serving.py.
BENCH ?=
# no: without the tests in a browser.
BROWSER ?= yes
STARTED := $(shell date +%s)
WITHOUT_BROWSER := $(if $(filter no,$(BROWSER)),-m 'not browser')

empty :=
space := $(empty) $(empty)
escape = $(subst $(space),\$(space),$(1))
absolute = $(if $(filter /%,$(firstword $(1))),$(1),$(CURDIR)/$(1))
version = $(shell "$(1)" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)

# One mark a Python version and kind of install, inside the environment: another PYTHON installs anew.
MARK := $(VENV)/.allennlp_nef-$(call version,$(PYTHON))$(if $(LOCKED),-locked)
PIP := "$(VENV)/bin/python" -m pip install --disable-pip-version-check --no-input
ifdef LOCKED
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
endif

RUN_NAME := qe_nef_f
RUN := runs/$(RUN_NAME)

.PHONY: help install train test browser docs bench bench-serving pictures lint format test-spark results-qe results-pos results-ner results-pos-baselines results-ner-baselines clean

help:
	@echo 'make train        install, train NEF-F on the fixtures, evaluate it, print three tagged sentences'
	@echo 'make test         install, then lint, types and tests, some in Chromium (BROWSER=no leaves those out)'
	@echo 'make docs         the site of the documentation, in build/docs, with links and anchors checked'
	@echo 'make bench        the speed, against taggers of AllenNLP itself, in less than 10 minutes (BENCH="--json FILE")'
	@echo 'make bench-serving 2,000 requests to allennlp serve and to gunicorn from 32 connections, each answer checked, in 2 minutes'
	@echo 'make pictures     the pictures of the README'
	@echo 'make install      virtual environment with the package and what the tests use (LOCKED=1: the versions of constraints.txt)'
	@echo 'make lint         ruff and mypy'
	@echo 'make format       ruff fixes and formatting'
	@echo 'make test-spark   one test with a local Spark, which it installs (456 MB) and which needs Java'
	@echo 'make results-qe   the results on MLQE-PE (QE_DATA=<folder of train.*, dev.*, test20.*, or of what it unpacks> QE_LANGUAGE=en-de)'
	@echo 'make results-pos  the results on a treebank of UD (POS_DATA=<folder of *-train.conllu, *-dev.conllu, *-test.conllu>)'
	@echo 'make results-ner  the results on CoNLL-2002 or 2003 (NER_DATA=<folder of esp.train, esp.testa, ...> NER_LANGUAGE=esp)'
	@echo 'make results-pos-baselines, results-ner-baselines   label attention and self-attention on the same data'
	@echo 'make clean        remove caches, runs and the environments made here'
	@echo
	@echo 'Variables: PYTHON=$(PYTHON) VENV=$(VENV)'

install: $(call escape,$(MARK))

# An environment that this Makefile made with another Python is made anew; any other folder is left alone.
$(call escape,$(MARK)): pyproject.toml setup.py $(if $(LOCKED),constraints.txt)
	@if [ -z "$(PYTHON)" ]; then \
		echo 'expected Python 3.11, 3.12, 3.13 or 3.14, found none: install one (on Debian: apt-get install python3 python3-venv),' \
			'or name its program with PYTHON=<python>' >&2; exit 2; fi; \
	if ! "$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null; then \
		echo "$(PYTHON) cannot make a virtual environment: not found, or without venv and ensurepip." \
			"Name another with PYTHON=<python>." >&2; exit 2; fi; \
	want=$(call version,$(PYTHON)); \
	have=$$("$(VENV)/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none); \
	if [ -e "$(VENV)" ] && [ "$$have" != "$$want" ] && [ ! -e "$(VENV)/.allennlp_nef" ]; then \
		echo "$(VENV) is not an environment of Python $$want (its Python: $$have)." \
			"Name another folder with VENV=<folder>, or remove it." >&2; exit 2; fi; \
	if [ "$$have" != "$$want" ]; then \
		echo "== $(PYTHON), which is Python $$want: environment in $(VENV)"; \
		"$(PYTHON)" -m venv --clear "$(VENV)"; touch "$(VENV)/.allennlp_nef"; fi
	@echo '== The package with all extras that the tests use'
	$(PIP) -e '.[dev]'
	@echo '== AllenNLP, without its requirements'
	$(PIP) --no-deps allennlp==2.10.1 allennlp-server==1.0.0 cached-path
	@touch "$@"
	@echo '== Installed in $(VENV)'

train: export PATH := $(call absolute,$(VENV))/bin:$(PATH)
train: export ALLENNLP_LOG_LEVEL ?= WARNING
train: install
	allennlp train training_configs/$(RUN_NAME).jsonnet --include-package allennlp_nef -s $(RUN)$(if $(wildcard $(RUN)), -f)
	allennlp evaluate $(RUN)/model.tar.gz fixtures/qe/test --include-package allennlp_nef --output-file $(RUN)/test_metrics.json
	allennlp predict $(RUN)/model.tar.gz fixtures/qe/test --use-dataset-reader --include-package allennlp_nef --predictor word_qe \
		--predictor-args '{"output_format": "text"}' --silent --output-file $(RUN)/test_tagged.txt
	@echo; echo 'Scores on the test set:'; cat $(RUN)/test_metrics.json; echo; echo
	@echo 'Three test sentences, words judged wrong marked /BAD:'; head -n 3 $(RUN)/test_tagged.txt

lint: install
	"$(VENV)/bin/python" -m ruff check .
	"$(VENV)/bin/python" -m ruff format --check .
	"$(VENV)/bin/python" -m mypy

format: install
	"$(VENV)/bin/python" -m ruff check --fix .
	"$(VENV)/bin/python" -m ruff format .

# The page is tested in Chromium; BROWSER=no leaves these tests out.
browser:
ifneq ($(BROWSER),no)
	@if command -v chromedriver >/dev/null && { command -v chromium || command -v google-chrome; } >/dev/null; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo '== Chromium'; export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver; exit; fi; \
	echo 'make test needs chromium and chromedriver: install them (on Debian: apt-get install chromium chromium-driver), or leave the' \
		'tests in a browser out with BROWSER=no' >&2; exit 2
endif

test: lint browser
	OMP_NUM_THREADS=1 "$(VENV)/bin/python" -m pytest -n 2 --dist worksteal $(WITHOUT_BROWSER)
	@seconds=$$(($$(date +%s) - $(STARTED))); echo "make test took $$((seconds / 60)) min $$((seconds % 60)) s"

test-spark: install
	$(PIP) 'pyspark>=3.5,<5'
	OMP_NUM_THREADS=1 "$(VENV)/bin/python" -m pytest tests/corpora/spark_test.py

docs: install
	"$(VENV)/bin/python" docs/make_reference.py --check
	"$(VENV)/bin/python" -m mkdocs build --strict

bench: install
	"$(VENV)/bin/python" benchmarks/speed.py $(BENCH)

bench-serving: install
	"$(VENV)/bin/python" benchmarks/serving.py $(BENCH)

pictures: install browser
	"$(VENV)/bin/python" -m tests.demo.pictures

results-qe: DATA = $(QE_DATA)
results-qe: RESULTS_LANGUAGE = $(QE_LANGUAGE)
results-pos results-pos-baselines: DATA = $(POS_DATA)
results-ner results-ner-baselines: DATA = $(NER_DATA)
results-ner results-ner-baselines: RESULTS_LANGUAGE = $(NER_LANGUAGE)
results-qe results-pos results-ner results-pos-baselines results-ner-baselines: install
	@if [ -z "$(DATA)" ]; then echo 'Name the data set, as in make help' >&2; exit 2; fi
	"$(VENV)/bin/python" benchmarks/results.py $(@:results-%=%) --data "$(DATA)" $(if $(RESULTS_LANGUAGE),--language "$(RESULTS_LANGUAGE)")

clean:
	rm -rf runs build .mypy_cache .pytest_cache .ruff_cache .hypothesis allennlp_nef.egg-info
	find allennlp_nef tests fixtures -name __pycache__ -type d -prune -exec rm -rf {} +
	if [ -e "$(VENV)/.allennlp_nef" ]; then rm -rf "$(VENV)"; fi
