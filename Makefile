# Everything sets itself up. `uv` is used when it is on the PATH, else venv and pip.
VENV   ?= .venv
PYTHON ?= python3
BIN     = $(VENV)/bin
UV      = $(shell command -v uv 2>/dev/null)
STAMP   = $(VENV)/.relevo-installed

.PHONY: demo test check bench real-model docs clean

demo: $(STAMP)
	@$(BIN)/relevo demo

test: $(STAMP)
	@$(BIN)/python -m pytest -n auto --dist worksteal -q $(PYTEST)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright

bench: $(STAMP)
	@$(BIN)/python -m benchmarks $(BENCH)

real-model: $(STAMP)
	@$(BIN)/python -m real_model $(REAL_MODEL)

docs: $(STAMP)
	@$(BIN)/python docs/draw.py

$(STAMP): pyproject.toml
ifneq ($(UV),)
	@test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) $(VENV)
	@uv pip install --quiet --python $(BIN)/python --editable '.[dev]'
else
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
endif
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
