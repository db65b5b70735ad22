#!/bin/sh
# Tests the Python package beside the command line that THERMOCLINE names.
#
# The native module is built with the features of the whole workspace and of its tests (`--tests`), so nothing that
# `cargo test` built is built again; `make python` makes a wheel of it.
set -eu
cd "$(dirname "$0")/.."
if [ -n "${THERMOCLINE_WITHOUT_TOOLS:-}" ] && ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    echo "python: python3-venv is missing" | tee -a "${THERMOCLINE_SKIPPED:-/dev/null}"
    exit 0
fi
target=${CARGO_TARGET_DIR:-target}
cargo build --locked --workspace --lib --tests --features "${FEATURES:-}"
cp "$target/debug/lib_native.so" python/thermocline/_native.abi3.so
[ -x .venv/bin/pip ] || python3 -m venv .venv
.venv/bin/python - <<'WANTED' >"$target/python-wanted"
try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
print(*project["dependencies"], *project["optional-dependencies"]["test"], sep="\n")
WANTED
.venv/bin/pip install --quiet --disable-pip-version-check --requirement "$target/python-wanted"
.venv/bin/pyright --pythonpath .venv/bin/python
# As users see it: a path among the installed packages, as of `pip install --editable`, whose module is the one just built.
echo "$PWD/python" >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/thermocline.pth"
python/typed.sh "$PWD/.venv/bin"
python/docs.sh
PYTHONPATH=python .venv/bin/python -m pytest -q python/tests
