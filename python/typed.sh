#!/bin/sh
# Checks a user's file, tests/typed.py, with pyright and mypy, both strict, outside of the tree: they find the package
# where it is installed, by py.typed. The argument is the bin folder of its environment. mypy takes half a minute of
# CPU the first time, so it is no requirement of tests: `pip install mypy polars matplotlib` beside the package.
set -eu
cd "$(dirname "$0")/.."
bin=$1
alone="$(realpath "${CARGO_TARGET_DIR:-target}")/python-user"
rm -rf "$alone" && mkdir "$alone"
cp python/tests/typed.py "$alone"
cd "$alone"
echo '{"typeCheckingMode": "strict"}' >pyrightconfig.json
"$bin/pyright" --pythonpath "$bin/python" typed.py
[ ! -x "$bin/mypy" ] || "$bin/mypy" --strict --config-file= --cache-dir ../mypy-user --python-executable "$bin/python" typed.py
