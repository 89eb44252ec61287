# Everything a person or CI runs here. `make` alone lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
PEERS := benchmarks/peers/.venv
NODE := node_modules/.bin
CLIENTS := contract_tests/clients
CLIENT_TESTS := clients.py node_clients.py python_clients.py sdk_typescript.py
# `make clients` builds it, at the versions of its own Cargo.lock.
PROGENITOR := cargo-progenitor@0.15.1
RUST_TOOLS := build/clients/rust-tools/$(PROGENITOR)
# The folders with npm packages of their own.
OF_CLIENTS := $(addprefix $(CLIENTS)/,node openapi_zod_client)
VENDORED := dashboard/static/vendored
# Runs pip and shows its progress.
PIP := $(BIN)/python tooling/install.py
# The Python distributions of this repository.
PROJECTS := pyproject.toml sandbox/pyproject.toml sdk/python/pyproject.toml
EDITABLE := --no-deps --no-build-isolation --editable . --editable ./sandbox --editable ./sdk/python

# The existing packages and tests. A missing one is no error.
PACKAGES := $(wildcard gateway handlers services resources models tasks networks webhooks dashboard sandbox/sandbox \
	sdk/python/messaging_gateway_client)
TESTS := $(wildcard tests contract_tests sandbox/tests)
CHECKED := $(PACKAGES) $(TESTS) $(wildcard benchmarks)

ARGS ?=
PYTEST_ARGS ?=
# Headless Chromium: the same engine and pages for a third of the CPU time.
BROWSER := chromium-headless-shell
# More processes than cores, because many tests wait: for a window of a minute, a timeout, or a server's start.
# contract_tests/conftest.py sets the order, the longest files first. xdist's default starts files with many tests.
# Tests that measure milliseconds run alone.
ALONE := contract_tests/test_attacks.py
PYTEST := $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --durations=25 $(ALONE:%=--ignore=%)
# `make test` runs all tests on SQLite, those of the database on PostgreSQL too, and those of processes that share work
# behind PgBouncer. test_chaos.py, test_outage.py and test_several_webs.py start the other servers themselves.
# `make backends` runs all tests on PostgreSQL, and on PostgreSQL and Redis.
OF_DATABASE := tests/models tests/tasks/test_ingest.py tests/tasks/test_sweep.py
# These start servers for themselves, so they run once, with all the others.
OF_SERVERS := $(addprefix tests/models/database/test_,encrypted_servers.py failover.py pipeline.py postgresql.py postgresql_lost.py \
	redis_pool.py resolver.py session.py silence.py)
OF_PROCESSES := contract_tests/test_two_workers.py contract_tests/relayed/test_idempotency.py
# Texts, times, identifiers, lists, search, events and the doctor, over HTTP.
OF_SETTINGS := $(addprefix contract_tests/,conformance callbacks relayed/test_idempotency.py test_events.py test_redelivery.py \
	test_doctor.py cli dashboard/test_search_page.py dashboard/test_dashboard_times.py dashboard/test_message_pages.py)
# $(call on,BACKEND,TESTS), $(call alone). Arguments that select no test are not an error.
on = TEST_BACKEND=$(1) $(PYTEST) $(2) $(PYTEST_ARGS) || [ $$? -eq 5 ]
alone = $(BIN)/pytest $(ALONE) $(PYTEST_ARGS) || [ $$? -eq 5 ]

# npm and the linters start `node` by name. The virtual environment contains the locked version.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Tests start the service about sixty times. Without bytecode files, each start would compile all modules.
unexport PYTHONDONTWRITEBYTECODE
# The contract linters must not use the network.
export REDOCLY_TELEMETRY := off
export REDOCLY_SUPPRESS_UPDATE_NOTICE := true

.PHONY: attacks audit broadcast-limits trace erasures receivers odd-answers wrong-settings upgrades words clients toolchains usage bench flamegraphs bench-isolation bench-peers bench-backlog bench-amplification bench-broadcasts bench-overview bench-recipients bench-search bench-suppressions help run test contract fuzz fuzz-stranger chaos kills failover matrix mutants check style types imports lint sdk sdk-check breaks release docs format lock clean chromium runtimes servers backends

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: $(VENV)/.runtime ## Start the whole service on this machine, with the sandbox (ARGS="--port 9000")
	@exec $(BIN)/gateway up $(ARGS)

test: $(VENV)/.docs node_modules/.installed | chromium runtimes servers ## Run all tests (PYTEST_ARGS="-k retry")
	@failed=0; \
	$(call alone) || failed=1; \
	$(call on,postgresql,$(OF_DATABASE) $(OF_SERVERS:%=--ignore=%)) || failed=1; \
	$(call on,pgbouncer,-n 2 $(OF_PROCESSES)) || failed=1; \
	$(PYTEST) tests contract_tests sandbox/tests $(PYTEST_ARGS) || failed=1; \
	exit $$failed

backends: $(VENV)/.docs node_modules/.installed | chromium runtimes servers ## Run all tests on PostgreSQL, then on PostgreSQL and Redis
	@failed=0; \
	$(call on,postgresql,tests contract_tests) || failed=1; \
	$(call on,redis,tests contract_tests) || failed=1; \
	exit $$failed

contract: $(VENV)/.docs node_modules/.installed | chromium runtimes servers ## Run the tests against the running server only
	@failed=0; \
	$(call alone) || failed=1; \
	$(PYTEST) contract_tests $(PYTEST_ARGS) || failed=1; \
	exit $$failed

fuzz: $(VENV)/.dev ## Fuzz the running server, 1,000 examples for each operation and every body of a message
	@FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-1000} $(BIN)/pytest --timeout=0 contract_tests/test_fuzz.py $(PYTEST_ARGS)

fuzz-stranger: $(VENV)/.dev ## Fuzz it with the defaults of Schemathesis, 200 examples each (STRANGER_SEEDS="1 2 3")
	@STRANGER_EXAMPLES=$${STRANGER_EXAMPLES:-200} $(BIN)/pytest --timeout=0 contract_tests/test_stranger_fuzz.py contract_tests/make_fuzz_stranger.py $(PYTEST_ARGS)

chaos: $(VENV)/.dev | servers ## Inject 60 faults into 2,000 messages, and 30 into a broadcast to 20,000 people, on each backend (TEST_BACKEND=redis: one)
	@CHAOS_MESSAGES=$${CHAOS_MESSAGES:-2000} CHAOS_KILLS=$${CHAOS_KILLS:-60} CHAOS_RECIPIENTS=$${CHAOS_RECIPIENTS:-20000} $(BIN)/pytest contract_tests/chaos $(PYTEST_ARGS)

attacks: $(VENV)/.dev ## Load the service by one account for a minute in each way, with another account beside it (ATTACK_SECONDS=60)
	@ATTACK_SECONDS=$${ATTACK_SECONDS:-60} $(BIN)/pytest -s contract_tests/test_heavy_loads.py contract_tests/test_worker_memory.py $(PYTEST_ARGS)

kills: $(VENV)/.dev | servers ## Kill gateway up 200 times and start it again at once (UP_KILLS=200, TEST_BACKEND=redis)
	@TEST_BACKEND=$${TEST_BACKEND:-redis} UP_KILLS=$${UP_KILLS:-200} $(BIN)/pytest contract_tests/test_up_killed.py $(PYTEST_ARGS)

failover: $(VENV)/.dev | servers ## Promote standbys and restore backups under load, in every way
	@$(BIN)/pytest --timeout=0 -s contract_tests/failover/make_failover.py contract_tests/failover/make_histories.py $(PYTEST_ARGS)

# Versions that this machine lacks are listed as missing.
matrix: $(VENV)/.dev node_modules/.installed | servers ## Run the tests on each Python, each PostgreSQL and a newer SQLite (ARGS="python3.13 postgresql-18")
	@$(BIN)/python -m tooling.matrix $(ARGS)

# tooling/mutants/mutants.toml has the modules and their tests, equivalent.toml the mutants that change nothing.
mutants: $(VENV)/.dev | servers ## Inject a fault at each place of the modules that decide; the tests must notice (ARGS="models/deliveries/claim.py")
	@$(BIN)/python -m tooling.mutants $(ARGS)

trace: $(VENV)/.dev ## Print the modules that a send, status, delivery, number and overview enter (ARGS=send: all names)
	@mkdir -p build && $(BIN)/python -m tooling.trace $(ARGS) 2> build/trace.log || { tail build/trace.log; exit 1; }

upgrades: $(VENV)/.dev | servers ## Upgrade, roll back, back up and restore under load, on each backend (TEST_BACKEND=redis: one)
	@for backend in $${TEST_BACKEND:-sqlite postgresql redis}; do \
	TEST_BACKEND=$$backend UPGRADE_MESSAGES=$${UPGRADE_MESSAGES:-100} $(BIN)/pytest contract_tests/upgrades tests/models/test_releases.py $(PYTEST_ARGS); done

erasures: $(VENV)/.dev | servers ## Erase a person while another account has 1,000 erasures waiting, with 200,000 stored callbacks
	@for backend in $${TEST_BACKEND:-sqlite postgresql}; do \
	TEST_BACKEND=$$backend ERASURE_CALLBACKS=$${ERASURE_CALLBACKS:-200000} ERASURE_PEOPLE=$${ERASURE_PEOPLE:-1000} $(BIN)/pytest -s contract_tests/test_erasures.py $(PYTEST_ARGS); done

broadcast-limits: $(VENV)/.dev ## Send broadcasts at WhatsApp's limits with two workers (BROADCAST_RATES=20,80,1000; needs an idle machine)
	@$(BIN)/pytest -s contract_tests/make_broadcast_limits.py $(PYTEST_ARGS)

usage: $(VENV)/.dev | servers ## Compare GET /usage with the statuses of 10,000 messages, on each backend (TEST_BACKEND=redis: one)
	@for backend in $${TEST_BACKEND:-sqlite postgresql redis}; do \
	TEST_BACKEND=$$backend USAGE_MESSAGES=$${USAGE_MESSAGES:-10000} $(BIN)/pytest contract_tests/callbacks/test_usage.py $(PYTEST_ARGS); done

any-order: $(VENV)/.dev | servers ## Compare 10,000 callbacks in a random order with their own order, on each database (TEST_BACKEND=postgresql: one)
	@for backend in $${TEST_BACKEND:-sqlite postgresql}; do \
	TEST_BACKEND=$$backend CALLBACKS=$${CALLBACKS:-10000} $(BIN)/pytest --timeout=0 tests/services/test_callbacks_in_any_order.py $(PYTEST_ARGS); done

wrong-settings: $(VENV)/.dev node_modules/.installed | chromium servers ## Run the service on a PostgreSQL whose settings are all wrong (TEST_BACKEND=pgbouncer: one)
	@for backend in $${TEST_BACKEND:-postgresql pgbouncer}; do \
	TEST_WRONG_SETTINGS=1 TEST_BACKEND=$$backend $(PYTEST) $(OF_SETTINGS) $(PYTEST_ARGS); done

receivers: $(VENV)/.dev ## Deliver to gunicorn, which closes idle connections, and to 1,000 receivers with 256 descriptors
	@$(BIN)/pytest -s contract_tests/receivers/make_gunicorn.py contract_tests/receivers/make_descriptors.py $(PYTEST_ARGS)

odd-answers: $(VENV)/.dev ## Compare how curl and Go read the odd responses of tests/webhooks/odd_answers.py
	@$(BIN)/pytest --timeout=300 contract_tests/third_party/make_odd_answers.py $(PYTEST_ARGS)

# The first build downloads packages from the registries of each language, so it takes long.
clients: $(VENV)/.clients node_modules/.installed $(OF_CLIENTS:%=%/node_modules/.installed) $(RUST_TOOLS) | toolchains ## Generate clients in eleven languages, build them, drive most of them
	@$(BIN)/pytest --verbose --timeout=1800 --durations=10 $(addprefix contract_tests/shared/make_,$(CLIENT_TESTS)) \
	$(addprefix contract_tests/relayed/make_,go_retries.py node_retries.py) $(PYTEST_ARGS)

bench: $(VENV)/.dev $(PEERS)/.installed | servers ## Compare the performance with baselines and peers (ARGS="sending callbacks", BENCH_ROUNDS=3)
	@$(BIN)/python -m benchmarks $(ARGS)

flamegraphs: $(VENV)/.dev $(PEERS)/.installed ## Draw flame graphs of web and worker in docs/flamegraphs
	@$(BIN)/python -m benchmarks.flamegraphs

bench-isolation: $(VENV)/.dev ## Measure how hostile accounts delay the others (BENCH_RATES=50,200)
	@$(BIN)/python -m benchmarks.isolation

bench-peers: $(VENV)/.dev | servers ## Measure what webhook servers are compared by (BENCH_BACKENDS=SQLite,PostgreSQL+Redis)
	@$(BIN)/python -m benchmarks webhook_servers

bench-backlog: $(VENV)/.dev ## Measure how 100,000 due deliveries drain (BENCH_BACKLOG=100000)
	@$(BIN)/python -m benchmarks.backlog

bench-amplification: $(VENV)/.dev ## Measure what a victim gets for each request and byte of an attacking account
	@$(BIN)/python -m benchmarks.amplification

bench-broadcasts: $(VENV)/.dev | servers ## Measure a broadcast of 20,000 messages, and single sends beside it (BENCH_RECIPIENTS=20000)
	@$(BIN)/python -m benchmarks.broadcasts

bench-overview: $(VENV)/.dev | servers ## Measure how long the overview takes with 1,000,000 messages (BENCH_MESSAGES=1000000)
	@$(BIN)/python -m benchmarks.overview

bench-recipients: $(VENV)/.dev | servers ## Measure the upload of 1,000,000 recipients (BENCH_ROWS=1000000)
	@$(BIN)/python -m benchmarks.recipients

bench-suppressions: $(VENV)/.dev | servers ## Measure the import and the check of 1,000,000 suppressions (BENCH_SUPPRESSIONS=1000000)
	@$(BIN)/python -m benchmarks.suppressions

bench-search: $(VENV)/.dev | servers ## Measure the search of the dashboard (BENCH_MESSAGES=1000000)
	@$(BIN)/python -m benchmarks search

check: style types imports lint sdk-check breaks words docs ## Check style, types, imports, the contract, the language and the documentation

style: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.dev node_modules/.installed
	@$(BIN)/mypy $(CHECKED)
	@$(NODE)/tsc --project sdk/typescript --noEmit

imports: $(VENV)/.dev
	@$(BIN)/lint-imports --no-logo

lint: node_modules/.installed ## Lint the contract, openapi.yaml
	@$(BIN)/python -m openapi_spec_validator --validation-errors=all openapi.yaml
	@$(NODE)/redocly lint --format=stylish openapi.yaml
	@$(NODE)/spectral lint --fail-severity=hint --ruleset=.spectral-oas.yaml openapi.yaml
	@$(NODE)/spectral lint --fail-severity=hint --ruleset=.spectral-ibm.yaml openapi.yaml

# tooling/words.yml is the word list. .textlintrc.json limits the length of sentences. Findings name the original file.
words: node_modules/.installed ## Lint the language of comments, messages, pages and documentation
	@$(BIN)/python tooling/prose.py
	@$(NODE)/textlint --format unix build/prose | sed -E 's#^.*/build/prose/##; s#^([^:]+\.(py|html|ya?ml|m?ts))\.md:#\1:#'

sdk-check: $(VENV)/.dev
	@$(BIN)/python -m tooling.sdk_python --check

breaks: $(VENV)/.dev ## Compare the contract with the latest release and list breaking changes
	@$(BIN)/python -m tooling.contract_breaks

# It needs two databases on the internet, so neither `make check` nor CI includes it.
audit: $(VENV)/.audit node_modules/.installed ## Look up known vulnerabilities of all locked packages (ARGS=--strict: fail if not checked)
	@$(BIN)/python -m tooling.audit $(ARGS)

# Installing the wheel takes a minute, so `make test` does not include it.
release: $(VENV)/.release node_modules/.installed ## Build wheel, sdist, SBOM and image definition of this commit into dist/, and check them
	@$(BIN)/python -m tooling.release
	@$(BIN)/pytest --timeout=900 contract_tests/make_release.py $(PYTEST_ARGS)

# --strict: a broken link, or a page that loads a file from another host, is an error. Not with --quiet: hidden warnings
# would not count as errors.
docs: $(VENV)/.docs node_modules/.installed ## Build the documentation into build/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

sdk: $(VENV)/.dev node_modules/.installed ## Generate the types and operations of the SDKs from the contract
	@$(BIN)/python -m tooling.sdk_python
	@$(BIN)/python -m tooling.sdk_typescript

format: $(VENV)/.dev ## Format the code and apply ruff's fixes
	@$(BIN)/ruff check --fix --exit-zero .
	@$(BIN)/ruff format .

# The locks contain only packages and hashes: no index, no path, no package of this repository. Locked versions stay,
# except with LOCK_ARGS=--upgrade.
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-emit-package messaging-gateway-client --no-config --custom-compile-command "make lock"

lock: $(VENV)/bin/uv ## Update the lock files (LOCK_ARGS=--upgrade takes the newest versions)
	@$(COMPILE) pyproject.toml --group build $(LOCK_ARGS) --output-file requirements.lock
	@$(COMPILE) sandbox/pyproject.toml --constraint requirements.lock $(LOCK_ARGS) --output-file sandbox/requirements.lock
	@$(COMPILE) $(PROJECTS) --extra otel --group dev --constraint requirements.lock $(LOCK_ARGS) --output-file requirements-dev.lock
	@$(COMPILE) sdk/python/pyproject.toml --constraint requirements-dev.lock $(LOCK_ARGS) --output-file sdk/python/requirements.lock
	@$(COMPILE) --group pages --constraint requirements-dev.lock $(LOCK_ARGS) --output-file requirements-pages.lock
	@$(COMPILE) --group docs --constraint requirements-dev.lock $(LOCK_ARGS) --output-file requirements-docs.lock
	@$(COMPILE) --group audit --constraint requirements-dev.lock $(LOCK_ARGS) --output-file requirements-audit.lock
	@$(COMPILE) --group release --constraint requirements-dev.lock $(LOCK_ARGS) --output-file requirements-release.lock
	@$(COMPILE) --group clients --constraint requirements-dev.lock $(LOCK_ARGS) --output-file requirements-clients.lock
	@$(COMPILE) --constraint requirements.lock benchmarks/peers/requirements.in $(LOCK_ARGS) --output-file benchmarks/peers/requirements.lock
	@$(BIN)/npm install --package-lock-only --ignore-scripts --silent
	@for folder in $(OF_CLIENTS); do (cd $$folder && npm install --package-lock-only --ignore-scripts --silent); done
	@cd tooling/matrix && npm install --package-lock-only --ignore-scripts --silent

clean: ## Remove installed packages and caches; data in var/ stays
	@rm -rf $(VENV) $(PEERS) $(VENDORED) node_modules $(CLIENTS)/*/node_modules build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp below marks its step as done, so that a second run skips it.

$(VENV)/bin/python:
	@tooling/find-python >/dev/null || tooling/system-packages python3-venv
	@python=$$(tooling/find-python) || { echo "No Python 3.11 or newer found; install one, or name it: make PYTHON=..." >&2; exit 1; }; \
	echo "Making $(VENV) with $$python" >&2; "$$python" -m venv --clear $(VENV)

# Every package must match its locked hash. Building ours downloads nothing: the build tools are locked too.
$(VENV)/.runtime: requirements.lock sandbox/requirements.lock $(PROJECTS) | $(VENV)/bin/python $(VENDORED)
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --require-hashes -r sandbox/requirements.lock
	@$(PIP) $(EDITABLE)
	@touch $@

# The development lock contains the runtime locks, at the same versions.
$(VENV)/.dev: requirements-dev.lock requirements.lock sandbox/requirements.lock $(PROJECTS) | $(VENV)/bin/python $(VENDORED)
	@$(PIP) --require-hashes -r requirements-dev.lock
	@$(PIP) $(EDITABLE)
	@touch $(VENV)/.runtime $@

# Locked at the versions of the development lock, so that one environment can hold both.
$(VENV)/.docs: requirements-docs.lock | $(VENV)/.dev
	@$(PIP) --require-hashes -r requirements-docs.lock
	@touch $@

# The packages that write and validate the SBOM, locked like those of the documentation above.
$(VENV)/.release: requirements-release.lock | $(VENV)/.dev
	@$(PIP) --require-hashes -r requirements-release.lock
	@touch $@

# Like the packages of a release.
$(VENV)/.audit: requirements-audit.lock | $(VENV)/.dev
	@$(PIP) --require-hashes -r requirements-audit.lock
	@touch $@

# The generators in Python that only `make clients` needs.
$(VENV)/.clients: requirements-clients.lock | $(VENV)/.dev
	@$(PIP) --require-hashes -r requirements-clients.lock
	@touch $@

# The peers of the benchmarks have a separate environment. Not `venv --clear`: if this path is a symbolic link, that
# would empty its target.
$(PEERS)/.installed: benchmarks/peers/requirements.lock | $(VENV)/bin/python
	@rm -rf $(PEERS)
	@$(BIN)/python -m venv $(PEERS)
	@$(PEERS)/bin/python tooling/install.py --require-hashes -r benchmarks/peers/requirements.lock
	@touch $@

# Not $(VENV)/.dev, which fails if the locks do not match pyproject.toml: `make lock` must run in that state.
$(VENV)/bin/uv: | $(VENV)/bin/python
	@$(PIP) --require-hashes -r requirements-dev.lock

node_modules/.installed: package-lock.json package.json .npmrc | $(VENV)/.dev
	@echo "Installing package-lock.json" >&2
	@$(BIN)/npm ci --ignore-scripts --loglevel=error
	@touch $@

# The scripts, styles and fonts of the pages. The package, editable or not, cannot be built without them. If npm is
# missing, requirements-pages.lock installs it, at the version of the development lock.
$(VENDORED): package-lock.json tooling/vendor.py | $(VENV)/bin/python
	@[ -d node_modules/redoc ] || command -v npm >/dev/null || \
	$(PIP) --require-hashes -r requirements-pages.lock
	@$(BIN)/python tooling/vendor.py
	@touch $@

# The TypeScript packages and the grammar that only `make clients` needs.
$(OF_CLIENTS:%=%/node_modules/.installed): %/node_modules/.installed: %/package-lock.json %/package.json .npmrc | $(VENV)/.dev
	@echo "Installing $*/package-lock.json" >&2
	@cd $* && npm ci --ignore-scripts --loglevel=error
	@touch $@

$(RUST_TOOLS): | toolchains
	@echo "Building $(PROGENITOR)" >&2
	@cargo install --quiet --locked --root $(@D) $(PROGENITOR)
	@touch $@

chromium:
	@command -v $(BROWSER) >/dev/null || tooling/system-packages $(BROWSER)

# PHP and Ruby run the snippets of docs/receiving.md and take 42 MB. Go takes 450 MB, so its snippet runs only if Go is
# installed.
runtimes:
	@{ command -v php && command -v ruby; } >/dev/null || tooling/system-packages php-cli ruby

# For `make clients`. Go and Rust must be installed by hand: Debian 12's versions are too old for the generated clients.
toolchains:
	@missing=; \
	{ command -v mvn && command -v javac; } >/dev/null || missing="maven default-jdk-headless"; \
	php -r 'require "GuzzleHttp/autoload.php"; exit(function_exists("curl_init") && function_exists("mb_strlen") ? 0 : 1);' >/dev/null 2>&1 || \
	missing="$$missing php-cli php-curl php-mbstring php-guzzlehttp-guzzle"; \
	ruby -rtyphoeus -e 0 2>/dev/null || missing="$$missing ruby ruby-typhoeus"; \
	[ -z "$$missing" ] || tooling/system-packages $$missing
	@for tool in go cargo; do command -v $$tool >/dev/null || { \
	echo "Missing: $$tool. Install Go 1.26 or newer and a current Rust, then run this again." >&2; exit 1; }; done

# The servers that tests and benchmarks start. Debian keeps postgres off the PATH, so `command -v` does not find it.
servers:
	@missing=; \
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || missing=postgresql; \
	[ -x /usr/sbin/pgbouncer ] || command -v pgbouncer >/dev/null || missing="$$missing pgbouncer"; \
	command -v redis-server >/dev/null || missing="$$missing redis-server"; \
	[ -x /usr/sbin/nginx ] || command -v nginx >/dev/null || missing="$$missing nginx-light"; \
	[ -z "$$missing" ] || tooling/system-packages $$missing
