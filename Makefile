# Two commands a newcomer needs: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
PINS := $(shell $(PYTHON) -c 'import sys; print("-c constraints.txt" if sys.version_info[:2] == (3, 11) else "")')

.PHONY: demo test check bench clean

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "deniable needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINS) -e '.[dev]'
	@touch $@

demo: .venv/ready
	$(BIN)/deniable demo

test: check
	$(BIN)/python -m pytest

check: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv out build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
