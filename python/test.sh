#!/bin/sh
# Tests the Python package beside the command line that THERMOCLINE names. It shares what `cargo test` built.
set -eu
cd "$(dirname "$0")/.."
python/build.sh --quiet --profile dev
.venv/bin/pip install --quiet --disable-pip-version-check hypothesis pyarrow pyright pytest
.venv/bin/pyright --pythonpath .venv/bin/python
.venv/bin/python -m pytest -q python/tests
