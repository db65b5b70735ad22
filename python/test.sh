#!/bin/sh
# Tests the Python package beside the command line that THERMOCLINE names. It shares what `cargo test` built.
set -eu
cd "$(dirname "$0")/.."
if [ -n "${THERMOCLINE_WITHOUT_TOOLS:-}" ] && ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    echo "python: python3-venv is missing" | tee -a "${THERMOCLINE_SKIPPED:-/dev/null}"
    exit 0
fi
python/build.sh --quiet --profile dev
.venv/bin/pip install --quiet --disable-pip-version-check hypothesis pyarrow pyright pytest
.venv/bin/pyright --pythonpath .venv/bin/python
.venv/bin/python -m pytest -q python/tests
