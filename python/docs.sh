#!/bin/sh
# Writes the documentation of the Python package from its docstrings, target/python-docs; warnings are errors.
# The module is that of the repository's virtual environment, or the one that python/test.sh has built.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/pip install --quiet --disable-pip-version-check 'pdoc>=14' numpy 'gymnasium>=1.1' matplotlib optuna pandas polars altair typing_extensions
PYTHONPATH=python .venv/bin/python -W error -m pdoc --docformat restructuredtext --no-show-source \
    --output-directory "${CARGO_TARGET_DIR:-target}/python-docs" thermocline
