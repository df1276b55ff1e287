# Two commands a newcomer needs: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
PINS := $(shell $(PYTHON) -c 'import sys; print("-c constraints.txt" if sys.version_info[:2] == (3, 11) else "")')

JS := clients/js

# What Python compiled once it need not compile again: a test run starts some thousand processes, and pip leaves the
# packages of a demo uncompiled. An environment that forbids it is an image's, made for images.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo docs test quick test-slow e2e check lint types bench peers soak services hashes clean

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PINS)

# Everything that users install but Spark; and on top of it what the tests and the linters need. Python compiles what
# is imported when it is imported: compiling all of SciPy and Arrow first is a fifth of the time.
.venv/demo: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "deniable needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(INSTALL) --no-compile -e '.[all]'
	@touch $@

# Collecting the tests compiles what they import, once, and not in every worker of the first run.
.venv/ready: .venv/demo
	$(INSTALL) -e '.[dev]'
	@$(BIN)/python -m pytest --collect-only -q > /dev/null || true
	@touch $@

demo: .venv/demo
	$(BIN)/deniable demo

# The documentation, without a network, warnings as errors; into the package, where `deniable serve` finds it and
# `python -m build` packs it. Open src/deniable/service/site/index.html, or /docs of a collector.
SITE := src/deniable/service/site

docs: .venv/ready
	rm -rf $(SITE)
	$(BIN)/python -m sphinx -b html -W --keep-going -q -E -d build/doctrees docs $(SITE)

# The packages of a release with the hashes of their files, for `pip install --require-hashes`; for this platform.
hashes: .venv/demo
	$(BIN)/python tests/hashes.py constraints.txt > constraints-hashes.txt

# In minutes: the linters and every test that proves something quickly, with each real part touched.
# Two workers more than cores, since a test that waits for a browser or a collector leaves its core to another. One thread
# of BLAS for each: with more of them than cores most of their time is spent waiting in a loop (a plan for 256 symbols:
# 16 s of processor time instead of 2.7). Files go out as they are collected: by number of tests, the long ones with few
# tests would come last, and all but one worker would wait for them.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

test: .venv/ready services $(JS)/node_modules/.package-lock.json
	@$(MAKE) --no-print-directory -j 3 lint types quick  # linters take a core for a minute, so they run beside the tests

quick: .venv/ready $(JS)/node_modules/.package-lock.json
	$(PYTEST) -m "not slow" --counted quick

# At length: statistics, plans, faults, big files, browsers; properties on other examples with each commit, so that who
# repeats a run on a commit sees what it saw. make test-slow SEED=... takes others. Coverage is measured beside it, since
# these tests wait a third of their time; it is printed and fails nothing: which lines a race reaches differs between runs.
SEED ?= $(shell $(PYTHON) -c 'import sys; print(int(sys.argv[1][:8], 16))' $$(git rev-parse HEAD 2>/dev/null || echo 0))

test-slow: .venv/ready services $(JS)/node_modules/.package-lock.json
	@mkdir -p out
	@$(BIN)/python -m tests.coverage > out/coverage.txt 2>&1 & measured=$$!; \
	$(PYTEST) -m "slow or hypothesis" --counted slow --hypothesis-profile=anew --hypothesis-seed=$(SEED); passed=$$?; \
	wait $$measured; cat out/coverage.txt; exit $$passed

# The JavaScript client's tests need Node 18 or newer; on a Debian machine where we may, we install it.
$(JS)/node_modules/.package-lock.json: $(JS)/package.json $(JS)/package-lock.json
	@command -v npm >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
		{ apt-get update -q && apt-get install -qy --no-install-recommends nodejs npm; }
	@command -v npm >/dev/null || { echo "the JavaScript client's tests need Node 18 or newer with npm; install nodejs and npm"; exit 1; }
	cd $(JS) && npm ci --no-audit --no-fund
	@touch $@

# The pages in a real browser: part of `make test`, and alone.
e2e: .venv/ready services $(JS)/node_modules/.package-lock.json
	$(BIN)/python -m pytest tests/e2e

# What the tests need and pip cannot give: PostgreSQL, for a private cluster in a temporary folder, Chromium for
# the pages, Java for Spark, and nginx for the proxy that the documentation recommends.
services:
	@$(PYTHON) tests/services.py postgresql chromium java nginx

check: lint types

lint: .venv/ready $(JS)/node_modules/.package-lock.json
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	npm run --silent --prefix $(JS) lint

types: .venv/ready
	$(BIN)/mypy

bench: .venv/ready
	@$(PYTHON) tests/services.py postgresql wrk java chromium
	$(BIN)/python -m benchmarks

# The environments of the libraries that `make bench` compares with, and what cannot be installed here.
peers: .venv/ready
	$(BIN)/python -m benchmarks.peers.environments

# Every fault of tests/faults.py in its long form; fails if a report was lost or counted twice.
soak: .venv/ready services
	$(BIN)/python -m tests.soak

clean:
	rm -rf .venv .bench out build dist $(SITE) .mypy_cache .pytest_cache .ruff_cache .hypothesis $(JS)/node_modules
