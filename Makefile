# make setup | test | test-without-data | repro | bench | lint | pages | site | site-test | paper | manifests: each first sets up .venv from locks/requirements.lock
# and locks/torch.lock; the site's own tools go to build/site-tools, from locks/site.lock.
# In an environment of your own (conda): make test BIN="$CONDA_PREFIX/bin"
# WORKERS is how many processes test (one a core, each of up to a gigabyte).
# PIP_ARGS goes to pip, for example an index of CPU builds of Torch. STUDY limits a rebuild to one study.

PYTHON ?= python3
VENV ?= .venv
BIN ?= $(VENV)/bin
PIP_ARGS ?=
PROFILE ?= laptop
WORKERS ?= 2
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
export MKL_NUM_THREADS = 1
RUN = PATH="$(abspath $(BIN)):$$PATH"
NOTEBOOKS = python -m pytest -p bestarm_lab.notebooks -p tests.forked_kernels --nbval-lax --nbval-cell-timeout=600 -n $(WORKERS) --dist loadfile
WITHOUT = BESTARM_DATA="$(abspath build/no-data)" BESTARM_OFFLINE=1 $(RUN)

.PHONY: setup repro test test-without-data test-light bench lint pages site site-test paper manifests lock

ifeq ($(BIN),$(VENV)/bin)
setup: $(VENV)/ready
else
setup:
	$(RUN) python -m pip install --no-deps --editable . $(PIP_ARGS) --quiet
endif

# Three steps, since pip checks hashes of all that one command installs or of nothing.
$(VENV)/ready: locks/requirements.lock locks/torch.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 5) and "Python 3.11.5 or newer is needed, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement locks/requirements.lock $(PIP_ARGS)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement locks/torch.lock $(PIP_ARGS)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable . $(PIP_ARGS)
	touch $@

repro: setup
	@$(RUN) bestarm repro $(STUDY) --profile $(PROFILE)

test: setup
	$(RUN) python -m pytest -p no:nbval -n $(WORKERS) --dist worksteal --durations=20
	$(RUN) $(NOTEBOOKS) --durations=20 notebooks

# Whatever reads data files or shows them, where none can be had: committed rows, tables and outputs must do.
test-without-data: setup
	$(WITHOUT) python -m pytest -p no:nbval -n $(WORKERS) --dist worksteal tests/studies tests/objectives tests/lab/datasets tests/lab/test_missing_data.py
	$(WITHOUT) $(NOTEBOOKS) notebooks

# Tests of the library alone, in an environment with bestarm[networks], pytest and hypothesis, such as that of an unpacked
# source distribution; left out is what compares with GPy and statsmodels.
test-light:
	$(RUN) python -m pytest tests/designs tests/models tests/policies tests/problems/test_candidates.py tests/search \
		tests/test_partition.py tests/test_streams.py tests/test_vector_functions.py --ignore tests/models/test_finite_gp.py \
		--ignore tests/models/test_logistic.py --ignore tests/policies/test_ucb_glm.py $(PYTEST_ARGS)

bench: setup
	$(RUN) python -m benchmarks

lint: setup
	$(RUN) ruff check src tests benchmarks site
	$(RUN) ruff format --check src tests benchmarks site
	$(RUN) mypy

pages: setup
	$(RUN) bestarm pages

# Static pages in build/site/html, from committed notebooks, docs and results: nothing is executed, nothing fetched.
SITE_TOOLS = build/site-tools
SITE = PYTHONPATH="$(abspath $(SITE_TOOLS)):$(abspath site)" $(RUN)

$(SITE_TOOLS)/ready: locks/site.lock | setup
	rm -rf $(SITE_TOOLS)
	$(RUN) python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target $(SITE_TOOLS) \
		--requirement locks/site.lock $(PIP_ARGS)
	touch $@

site: setup $(SITE_TOOLS)/ready
	$(SITE) python -m bestarm_site --fresh

# The same in a browser, the Chromium of the system.
site-test: site
	$(SITE) python -m pytest tests/site

# The findings paper, one HTML file: build/paper/paper.html. It is refused if a row it quotes is gone, or a conclusion no longer holds.
paper: setup
	PYTHONPATH="$(abspath site)" $(RUN) python -m bestarm_paper

# For a release: codecheck.yml, codemeta.json, .zenodo.json and claims.json in build/release, from results, figures and CITATION.cff.
manifests: setup
	PYTHONPATH="$(abspath site)" $(RUN) python -m bestarm_site.manifests

# After a change of pyproject.toml; needs uv. Versions that the file has are kept, with UV_ARGS=--upgrade the newest are taken.
# What only Torch's build for CUDA brings is left out: Torch's own metadata name the versions.
lock:
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11.5 --generate-hashes --no-annotate --no-header \
		--quiet --output-file locks/requirements.lock $(UV_ARGS)
	awk '/^[a-z]/ {keep = !/^(torch==|triton==|cuda-|nvidia-)/} keep' locks/requirements.lock > locks/requirements.lock.new
	(echo "# What the committed results were made with, on Python 3.11: every package at its exact version, with the SHA-256 of each"; \
	 echo "# of its files. Torch is in locks/torch.lock. Made by 'make lock' from pyproject.toml."; \
	 cat locks/requirements.lock.new) > locks/requirements.lock
	rm locks/requirements.lock.new
	uv pip compile --group site --group site-test --constraint locks/requirements.lock --constraint locks/torch.lock --universal \
		--fork-strategy fewest --python-version 3.11.5 --generate-hashes --no-annotate --no-header --quiet \
		--output-file locks/site.lock $(UV_ARGS)
	(echo "# Tools of the site, beside what locks/requirements.lock has: every package at its exact version, with the SHA-256 of each of"; \
	 echo "# its files. Made by 'make lock' from the groups in pyproject.toml."; \
	 awk 'FNR == NR {if (/^[a-z]/) {split($$1, p, "=="); known[p[1]] = 1} next} /^[a-z]/ {split($$1, p, "=="); keep = !(p[1] in known)} keep' \
		locks/requirements.lock locks/site.lock | grep -v '^#') > locks/site.lock.new
	mv locks/site.lock.new locks/site.lock
