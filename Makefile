# `make check` runs everything that .ci/run runs, with the tools of the virtual environment PYTHON stands in.
PYTHON ?= .venv/bin/python
BUILD := build/check

.PHONY: check format lint types test package

check: format lint package types test

format:
	$(PYTHON) -m ruff format --check .

lint:
	$(PYTHON) -m ruff check .

# Wheel and sdist, each installed and used in an environment that has nothing else.
package:
	rm -rf $(BUILD)
	$(PYTHON) -m build --outdir $(BUILD)/dist .
	$(PYTHON) -m venv $(BUILD)/clean
	for built in $(BUILD)/dist/*.whl $(BUILD)/dist/*.tar.gz; do \
	  $(BUILD)/clean/bin/python -m pip install -q $$built \
	    && (cd $(BUILD) && clean/bin/python ../../.ci/use_installed.py) \
	    && $(BUILD)/clean/bin/python -m pip uninstall -q -y dspy-rlm || exit 1; \
	done

# mypy cannot follow the folder mapping in place, so the wheel is unpacked, and what uses the package put beside it.
types: package
	$(PYTHON) -m pip install -q --no-deps --target $(BUILD)/types $(BUILD)/dist/*.whl
	cp -r examples $(BUILD)/types/
	cd $(BUILD)/types && $(abspath $(PYTHON)) -m mypy --config-file ../../../pyproject.toml -p dspy_rlm
	cd $(BUILD)/types/examples && MYPYPATH=.. $(abspath $(PYTHON)) -m mypy --config-file ../../../../pyproject.toml .

# README's code, the docstrings' and the examples are tests too.
test:
	$(PYTHON) -m pytest --cov --cov-report=term
