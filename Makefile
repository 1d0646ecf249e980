# Every target stands on `setup`, so that a fresh machine with Python 3.11 needs nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.locked
PYTEST_ARGS ?=
SERVE ?= 1
PORT ?= 8000

.PHONY: help setup demo test serve worker lint bench fuzz pictures up lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-8s %s\n", $$1, $$2}'

setup: $(STAMP) ## .venv from the lock file, every package checked by its hash

$(STAMP): requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info[:2] == (3, 11) else "Falsestep is built for Python 3.11; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@touch $@

demo: setup ## the main job on the sample study, then the site (SERVE=0 stops after the report)
	SERVE=$(SERVE) $(BIN)/python manage.py demo --port $(PORT)

test: setup ## the whole test suite
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest $(PYTEST_ARGS)

serve: setup ## the site on 127.0.0.1
	$(BIN)/python manage.py migrate --verbosity 0
	$(BIN)/python manage.py runserver --noreload 127.0.0.1:$(PORT)

worker: setup ## a Celery worker, with the sweeper's clock in it
	$(BIN)/celery -A config worker --beat --pool solo --loglevel INFO

lint: setup ## ruff, mypy, import-linter, missing migrations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run --verbosity 0

bench: setup ## speed and memory, beside a plain implementation in the same run
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.disputes 10000

FUZZ_SECONDS ?= 30
fuzz: setup ## look for inputs that break importers, parsing, mathematics and the API (FUZZ_SECONDS per target)
	FALSESTEP_FUZZ_EXAMPLES=400 $(BIN)/python -m pytest -n 0 tests/fuzz
	FALSESTEP_FUZZ_EXAMPLES=60 $(BIN)/python -m pytest -n 0 tests/api/test_fuzz.py
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

pictures: setup ## a picture of every page into docs/pictures (needs Debian's chromium)
	$(BIN)/python -m tests.pictures

up: .env ## the production stack in containers
	docker compose up --build

.env: # secrets of this installation, made once, readable by its owner alone
	@umask 077; $(PYTHON) -c 'import secrets; print(f"FALSESTEP_SECRET_KEY={secrets.token_urlsafe(48)}\nPOSTGRES_PASSWORD={secrets.token_urlsafe(24)}")' > $@

lock: ## resolve the dependencies anew (needs uv)
	uv pip compile --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-annotate --custom-compile-command 'make lock' -o requirements.lock requirements-dev.in

clean: ## remove what the targets made
	rm -rf $(VENV) var
