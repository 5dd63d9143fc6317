# One command for each intent. Everything is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-affected test-long test-times check lint types limits structure faults kills campaign fuzz up performance \
  mutants wheel lock docs docs-reference screenshots

## Install, migrate, and evaluate the starter agent with both formulations.
demo: .venv/local
	PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

## Run the tests, with real Redis and PostgreSQL servers that the tests start themselves; SEED=1, for a random order.
test: .venv/dev
	$(BIN)/python -m tests.suite.needs
	$(BIN)/python -m pytest $(PYTEST)

## Run the tests that a change can touch, and print why each file was chosen. The change: what differs from where this
## branch left main, uncommitted and new files included; on main what is not committed, or else the last commit.
## SINCE=COMMIT, to compare with another commit; LIST=1, to run nothing; OPTIONS for pytest, as for `make test`.
test-affected: .venv/dev
	$(BIN)/python -m tests.affected $(if $(SINCE),--since $(SINCE)) $(if $(LIST),--list) -- $(PYTEST)

## Run the tests that take long: whole files of benchmarks, jobs of earlier versions, and further cases of what `make test` has.
test-long: .venv/dev
	$(BIN)/python -m tests.suite.needs
	$(BIN)/python -m pytest $(PYTEST) -m long

## Run the tests, print where their time goes, and store the times by which they are scheduled.
test-times: .venv/dev
	$(BIN)/python -m pytest $(PYTEST) --times=build/test-times
	$(BIN)/python -m tests.suite build/test-times --write

# Two processes for each core; an order that is fixed, unless a seed is given.
PYTEST = -n auto --progress $(if $(SEED),--shuffle --randomly-seed=$(SEED)) $(OPTIONS)

## Lint, formatting, the direction of imports, and types.
check: lint types limits

## The part of `make check` that takes seconds.
lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

## The part of `make check` that takes a minute. pyright is pinned: without the variable it would ask for newer ones.
types: .venv/dev
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

## The part of `make check` that counts names and `fmt: skip` comments; pyproject.toml has the limits.
limits: .venv/dev
	$(BIN)/python -m tests.structure --limits

## Measure circles of imports, lengths, types and names; OPTIONS='--list', for what was counted.
structure: .venv/dev
	$(BIN)/python -m tests.structure $(OPTIONS)

## Bring about every fault, and print what each cost (half an hour); OPTIONS='--only "disk full"', for some.
faults: .venv/dev
	$(BIN)/python -m tests.faults $(OPTIONS)

## Kill tool agents at each step of a search, and at random instants of a job (five minutes).
kills: .venv/dev
	$(BIN)/python -m tests.kills $(OPTIONS)

## One hour of random faults against `lumos up`, and what they cost; OPTIONS='--minutes 3 --seed 1', to look at it.
campaign: .venv/dev
	$(BIN)/python -m tests.campaign $(OPTIONS)

## Let models give hostile replies in every domain, and print what became of 60 episodes of each, and what they cost (an hour
## at most); OPTIONS='--domain maths --seed 1', for some.
fuzz: .venv/dev
	$(BIN)/python -m tests.fuzz $(OPTIONS)

## Measure what orchestration costs, beside a bare loop and peers (docs/performance.md); OPTIONS='--quick', for one.
performance: .venv/performance
	$(BIN)/python -m performance $(OPTIONS)

## Change the core in small ways and print what its tests do not notice; MODULES='db/queue/job_changes.py', to choose;
## SAMPLE=40 of each module instead of 20 (0: all), SEED=2, JOBS=2.
mutants: .venv/dev
	$(BIN)/python -m tests.mutants $(MODULES) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS))

## Build the documents as a site, build/site/index.html; a broken link is an error.
docs: .venv/docs
	$(BIN)/mkdocs build --strict

## Write the pages that are made from the code: docs/commands.md, docs/settings.md.
docs-reference: .venv/dev
	$(BIN)/python -m tests.reference_pages

## Evaluate 2,000 tasks, and make all pictures of docs/pictures (six minutes); OPTIONS=--drawings, for the drawings alone.
screenshots: .venv/dev
	$(BIN)/python -m tests.screenshots $(OPTIONS)

## Build the wheel that machines install from, dist/lumos_queue-VERSION-py3-none-any.whl.
wheel:
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

## Start a whole deployment here: broker, workers, dispatcher and Flower.
up: .venv/local
	$(BIN)/lumos up

## Write the locks of requirements/ again: versions that still fit stay; OPTIONS=--upgrade, for the newest of all.
lock: .venv/dev
	$(LOCK) --extra performance --output-file requirements/performance.txt
	for extra in dev docs local; do echo hatchling | $(LOCK) - --extra $$extra \
	  --constraint requirements/performance.txt --output-file requirements/$$extra.txt || exit 1; done
LOCK = $(BIN)/uv pip compile --quiet --config-file requirements/uv.toml $(OPTIONS) pyproject.toml

# pip takes everything from the lock, by its hashes; torch, which is not in it, comes with the project itself
# (requirements/uv.toml says why).
.venv/local .venv/dev .venv/docs .venv/performance: .venv/%: requirements/%.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP_INSTALL) --no-deps --require-hashes --requirement $<
	$(PIP_INSTALL) --no-build-isolation --editable '.[$*]'
	touch $@ $(CONTAINS_$*)
PIP_INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check
CONTAINS_dev = .venv/local .venv/docs
CONTAINS_performance = .venv/local .venv/docs .venv/dev
