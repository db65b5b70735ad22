#!/bin/sh
# Builds the Python package and installs it into the repository's virtual environment, .venv.
# Arguments go to maturin: --release, --profile quick.
set -eu
cd "$(dirname "$0")/.."
[ -x .venv/bin/pip ] || python3 -m venv .venv
[ -x .venv/bin/maturin ] || .venv/bin/pip install --quiet --disable-pip-version-check 'maturin>=1.8,<2' numpy
VIRTUAL_ENV="$PWD/.venv" .venv/bin/maturin develop --locked "$@"
