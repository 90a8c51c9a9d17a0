# Two commands for everybody: `make demo` and `make test`. Both make their own environment in .venv and can be repeated.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
CXX ?= g++
PYTEST_ARGS ?=
DATA ?= $(or $(TOPWISE_DATA),../shared/data)
NATIVE_FLAGS := -std=c++20 -O1 -g -Wall -Wextra -pthread -Icpp -fassociative-math -fno-signed-zeros -fno-trapping-math -fno-math-errno
SANITIZED := $(NATIVE_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover=all
HEADERS := $(wildcard cpp/*.hpp cpp/compositions/*.hpp cpp/tests/*.hpp)
KERNELS := $(patsubst cpp/%.cpp,build/native/%.o,$(wildcard cpp/kernels/*.cpp))
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
SOURCES := pyproject.toml CMakeLists.txt $(shell find cpp src -type f -not -name '*.pyc' 2>/dev/null)

.PHONY: demo test lint types unit native wheel bench format clean help

help:
	@echo "make demo    train on the MovieLens ratings that ship with the package, and recommend"
	@echo "make test    lint, types, native tests under sanitizers, all tests, the wheel in a clean environment"
	@echo "make bench   measure beside LightFM, implicit, EASE and faiss, and make the papers' tables again (long)"
	@echo "make format  format the code"
	@echo "make clean   remove what was built"

$(VENV)/bin/python:
	@echo "== making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)

build/wheel/.built: $(BIN)/python $(SOURCES)
	@echo "== building the wheel"
	@rm -rf build/wheel && mkdir -p build/wheel
	@$(PIP) wheel --no-deps -w build/wheel .
	@touch $@

$(VENV)/.package: build/wheel/.built
	@echo "== installing topwise into $(VENV)"
	@$(PIP) install --force-reinstall --no-deps build/wheel/*.whl && $(PIP) install build/wheel/*.whl
	@touch $@

$(VENV)/.test: $(VENV)/.package
	@echo "== installing what the tests need"
	@$(PIP) install "$$(echo build/wheel/*.whl)[test]"
	@touch $@

$(VENV)/.bench: $(VENV)/.test
	@echo "== installing the peers"
	@$(PIP) install "$$(echo build/wheel/*.whl)[bench]"
	@touch $@

demo: $(VENV)/.package
	@$(BIN)/topwise demo

test: lint types native unit wheel
	@echo "== all is well"

lint: $(VENV)/.test
	@echo "== lint"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.test
	@echo "== types"
	@$(BIN)/mypy -p topwise

unit: $(VENV)/.test
	@echo "== tests"
	@$(BIN)/pytest $(PYTEST_ARGS)

native:
	@$(MAKE) -s -j2 $(patsubst %,build/native/test_%,retrieval svmlight training pairs)
	@echo "== native tests under AddressSanitizer and UBSan"
	@build/native/test_retrieval
	@build/native/test_svmlight
	@build/native/test_training
	@build/native/test_pairs

build/native/%.o: cpp/%.cpp $(HEADERS)
	@mkdir -p $(@D)
	@echo "== compiling $< with sanitizers"
	@$(CXX) $(SANITIZED) -c $< -o $@

build/native/test_%: build/native/tests/test_%.o $(KERNELS)
	@$(CXX) $(SANITIZED) $^ -o $@

wheel: build/wheel/.built
	@echo "== the contract tests against the wheel in a clean environment"
	@rm -rf build/wheel-venv && $(PYTHON) -m venv build/wheel-venv
	@build/wheel-venv/bin/python -m pip --disable-pip-version-check -q install build/wheel/*.whl pytest hypothesis scikit-learn
	@cd build && wheel-venv/bin/python -m pytest -q -p no:cacheprovider ../tests/models --rootdir=../tests/models -c /dev/null
	@build/wheel-venv/bin/topwise --version

bench: $(VENV)/.bench
	@$(BIN)/python benchmarks/run.py
	@$(BIN)/topwise papers report --data "$(DATA)" --out benchmarks/results/papers --page docs/results.md

format: $(VENV)/.test
	@$(BIN)/ruff check --fix . && $(BIN)/ruff format .

clean:
	@rm -rf $(VENV) build dist
