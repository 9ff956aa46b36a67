PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.installed
BIN := $(CURDIR)/$(VENV)/bin

.PHONY: envs figures plan test test-slow test-all guide rehearse release verify redraw compare site venv clean-venv

# The environment, then every figure at the scale that config/experiments.yaml names.
figures: $(READY)
	PATH="$(BIN):$$PATH" snakemake figures/all

# What is left of figures/all, or of TARGET, and what it will cost; runs nothing. OPTIONS: those of snakemake, such as
# --profile slurm.
plan: $(READY)
	PATH="$(BIN):$$PATH" PYTHONPATH=workflow python -m bertshift.planning $(TARGET) $(OPTIONS)

PYTEST = PATH="$(BIN):$$PATH" python -m pytest -q -n 2 --no-loadscope-reorder

# What to run after each change: ten minutes on two cores. All units, the workflow at its smallest with figures, claims and
# page, two models compared through the API, archives drawn again.
test: $(READY)
	$(PYTEST) -m "not slow"

# The rest: each test or file says at its mark `slow` why it is one.
test-slow: $(READY)
	$(PYTEST) -m slow

# Every test, once.
test-all: test test-slow

# A scale's own file whole, small or paper, on made data and narrow models: no network, two CPU cores, 45 or 20 minutes.
SCALE ?= paper
rehearse: $(READY)
	PATH="$(BIN):$$PATH" PYTHONPATH=tests python -m rehearsal $(SCALE)

# The tables of config/README.md from workflow/schemas/, and the picture of rules in docs/workflow.md.
guide: $(READY)
	PATH="$(BIN):$$PATH" PYTHONPATH=tests python -m guide && python -m rule_graph

# An archive of a finished run, to deposit: docs/release.md. OPTIONS: --configfile FILE, further results.
release: $(READY)
	PATH="$(BIN):$$PATH" python -m bertshift.release write $(OPTIONS)

# The files in a variable: one, whose name may have spaces, or several with spaces between.
FILES = if [ -e "$$$(1)" ]; then set -- "$$$(1)"; else eval "set -- $$$(1)"; fi

# Is an archive as it was written, and what comes out otherwise here?
verify: $(READY)
	@$(call FILES,ARCHIVE); PATH="$(BIN):$$PATH" python -m bertshift.release verify $(OPTIONS) "$$@"

# Figures, claims and page of an archive, drawn by the program of today from its tables. OUT: the folder for them.
# ARCHIVE="a.zip b.zip": b.zip has further tables for the figures of a.zip.
redraw: $(READY)
	@$(call FILES,ARCHIVE); PATH="$(BIN):$$PATH" python -m bertshift.release redraw $(OPTIONS) $(if $(OUT),--out "$(OUT)") "$$@"

# What two archives say, claim by claim and figure by figure. ARCHIVES: their files, as "'my a.zip' b.zip"; OUT: the folder for it.
compare: $(READY)
	@$(call FILES,ARCHIVES); PATH="$(BIN):$$PATH" python -m bertshift.release compare $(OPTIONS) $(if $(OUT),--out "$(OUT)") "$$@"

# The guides as a site, in site/; a link that leads nowhere is an error. To search it: python3 -m http.server -d site
site: $(READY)
	PATH="$(BIN):$$PATH" mkdocs build

# The environment alone.
venv: $(READY)

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --disable-pip-version-check --progress-bar off --no-compile -r requirements.txt
	$(VENV)/bin/python -m pip install --disable-pip-version-check --progress-bar off --no-deps --editable .
	@touch $@

# Environments for conda, from the same pins.
envs: $(READY)
	PATH="$(BIN):$$PATH" PYTHONPATH=tests python -m environments

clean-venv:
	rm -rf $(VENV)
