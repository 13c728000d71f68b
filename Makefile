# `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

PYTHON ?= python3.11
VENV ?= .venv
LEGACY_PYTHON ?= python3.10
LEGACY_VENV ?= .venv-legacy
# LOCKED=1 installs the exact versions of requirements-lock.txt.
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
LEGACY_MARK := $(LEGACY_VENV)/.allennlp_nef-$(call version,$(LEGACY_PYTHON))-legacy
REQUIREMENTS := $(if $(LOCKED),requirements-lock.txt,requirements.txt requirements-dev.txt)
PIP_FLAGS := --disable-pip-version-check --no-input

# Two warnings of AllenNLP's imports, by their exact text: torchvision's image reader is not used, and the spelling is AllenNLP's.
comma := ,
QUIET := ignore:Failed to load image Python extension:UserWarning$(comma)ignore:`torch.cuda.amp.autocast(args...)` is deprecated:FutureWarning
export PYTHONWARNINGS := $(if $(PYTHONWARNINGS),$(PYTHONWARNINGS)$(comma))$(QUIET)

RUN_NAME := qe_nef_f
RUN := runs/$(RUN_NAME)

# $(call make-venv,python,folder): the folder becomes an environment of that Python. One that this Makefile made with another
# Python is made anew; any other folder is left alone.
define make-venv
@if ! "$(1)" -c 'import venv, ensurepip' 2>/dev/null; then \
	echo "$(1) cannot make a virtual environment: not found, or without venv and ensurepip. Name another with $(3)=<python>." >&2; exit 2; fi; \
want=$$("$(1)" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
if [ -e "$(2)" ]; then \
	have=$$("$(2)/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none); \
	if [ "$$have" = "$$want" ]; then exit 0; fi; \
	if [ ! -e "$(2)/.allennlp_nef" ]; then \
		echo "$(2) is not an environment of Python $$want (its Python: $$have). Name another folder with $(4)=<folder>, or remove it." >&2; exit 2; fi; \
fi; \
echo "== Python $$want environment in $(2)"; \
"$(1)" -m venv --clear "$(2)"; touch "$(2)/.allennlp_nef"
endef

.PHONY: help install train test browser docs bench bench-serving pictures lint format test-legacy test-spark results-qe results-pos results-ner results-pos-baselines results-ner-baselines clean

help:
	@echo 'make train        install, train NEF-F on the fixtures, evaluate it, print three tagged sentences'
	@echo 'make test         install, then lint, types and tests, some in Chromium (BROWSER=no leaves those out)'
	@echo 'make docs         the site of the documentation, in build/docs, with links and anchors checked'
	@echo 'make bench        the speed, against taggers of AllenNLP itself, in less than 10 minutes (BENCH="--json FILE")'
	@echo 'make bench-serving 2,000 requests to allennlp serve and to gunicorn from 32 connections, each answer checked, in 2 minutes'
	@echo 'make pictures     the pictures of the README'
	@echo 'make install      virtual environment with the package and its requirements (LOCKED=1: exact versions)'
	@echo 'make lint         ruff and mypy'
	@echo 'make format       ruff fixes and formatting'
	@echo 'make test-legacy  the tests on AllenNLP 2.10.1 with its own pins (Python 3.8 to 3.10, torch 1.12.1)'
	@echo 'make test-spark   one test with a local Spark, which it installs (456 MB) and which needs Java'
	@echo 'make results-qe   the results on MLQE-PE (QE_DATA=<folder of train.*, dev.*, test20.*, or of what it unpacks> QE_LANGUAGE=en-de)'
	@echo 'make results-pos  the results on a treebank of UD (POS_DATA=<folder of *-train.conllu, *-dev.conllu, *-test.conllu>)'
	@echo 'make results-ner  the results on CoNLL-2002 or 2003 (NER_DATA=<folder of esp.train, esp.testa, ...> NER_LANGUAGE=esp)'
	@echo 'make results-pos-baselines, results-ner-baselines   label attention and self-attention on the same data'
	@echo 'make clean        remove caches, runs and the environments made here'
	@echo
	@echo 'Variables: PYTHON=$(PYTHON) VENV=$(VENV) LEGACY_PYTHON=$(LEGACY_PYTHON) LEGACY_VENV=$(LEGACY_VENV)'

install: $(call escape,$(MARK))

$(call escape,$(MARK)): pyproject.toml requirements-no-deps.txt $(REQUIREMENTS)
	$(call make-venv,$(PYTHON),$(VENV),PYTHON,VENV)
	@echo '== Requirements'
	"$(VENV)/bin/python" -m pip install $(PIP_FLAGS) $(addprefix -r ,$(REQUIREMENTS))
	@echo '== AllenNLP, without its version caps'
	"$(VENV)/bin/python" -m pip install $(PIP_FLAGS) --no-deps -r requirements-no-deps.txt
	@echo '== allennlp_nef'
	"$(VENV)/bin/python" -m pip install $(PIP_FLAGS) --no-deps -e .
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

$(call escape,$(LEGACY_MARK)): pyproject.toml requirements-legacy.txt
	$(call make-venv,$(LEGACY_PYTHON),$(LEGACY_VENV),LEGACY_PYTHON,LEGACY_VENV)
	@echo '== Requirements'
	# The pip that comes with Python 3.8 does not find versions that fit together.
	"$(LEGACY_VENV)/bin/python" -m pip install $(PIP_FLAGS) 'pip>=25'
	"$(LEGACY_VENV)/bin/python" -m pip install $(PIP_FLAGS) -r requirements-legacy.txt
	@echo '== allennlp_nef'
	"$(LEGACY_VENV)/bin/python" -m pip install $(PIP_FLAGS) -e .
	@touch "$@"
	@echo '== Installed in $(LEGACY_VENV)'

test-legacy: $(call escape,$(LEGACY_MARK)) browser
	OMP_NUM_THREADS=1 "$(LEGACY_VENV)/bin/python" -m pytest -n 2 --dist worksteal $(WITHOUT_BROWSER)

test-spark: install
	"$(VENV)/bin/python" -m pip install $(PIP_FLAGS) 'pyspark>=3.5,<5'
	OMP_NUM_THREADS=1 "$(VENV)/bin/python" -m pytest tests/bulk/spark_test.py

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
	@for folder in "$(VENV)" "$(LEGACY_VENV)"; do if [ -e "$$folder/.allennlp_nef" ]; then echo "rm -rf $$folder"; rm -rf "$$folder"; fi; done
