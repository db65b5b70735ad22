#!/usr/bin/env bash
# Checks the types of the scripts in pages (JSDoc, by TypeScript) and lints them, where Node is present. Building needs
# neither: scripts are written as they run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v npx >/dev/null; then
    echo "browser/lint.sh: scripts are not checked: needs Node's npx" >&2
    [[ -z ${THERMOCLINE_SKIPPED:-} ]] || echo "browser/lint.sh: scripts are not checked: needs Node's npx" >>"$THERMOCLINE_SKIPPED"
    exit
fi
scripts=(crates/*/assets/*.js)
npx --yes --loglevel=error --package typescript@5.9.3 tsc --allowJs --checkJs --noEmit --strict --noUnusedLocals --noImplicitReturns \
    --target es2022 --lib es2022,dom,dom.iterable "${scripts[@]}"
npx --yes --loglevel=error oxlint@1.20.0 --deny-warnings -D correctness -D suspicious -D perf -A unicorn/consistent-function-scoping "${scripts[@]}"
