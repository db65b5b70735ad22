#!/usr/bin/env bash
# Checks the types of the scripts in pages (JSDoc, by TypeScript) and lints them, where Node and the npm registry are there.
# Building needs neither: scripts are written as they run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
    echo "browser/lint.sh: scripts are not checked: $*" >&2
    [[ -z ${THERMOCLINE_SKIPPED:-} ]] || echo "browser/lint.sh: scripts are not checked: $*" >>"$THERMOCLINE_SKIPPED"
    exit 0
}

for program in node python3; do command -v "$program" >/dev/null || skip "needs $program; make test-tools installs it"; done
fetched() { python3 browser/registry.py "$@" || skip "the npm registry cannot be reached"; }
case $(uname -m) in
    aarch64) machine=arm64 ;;
    *) machine=x64 ;;
esac
tsc=$(fetched typescript@5.9.3 lib/tsc.js)
oxlint=$(fetched "@oxlint/linux-$machine-gnu@1.14.0" oxlint)
[[ -f $tsc ]] || exit 0

live=crates/live/assets
web=crates/web/assets
for page in "$live/common.js $live/charts.js $web/playground.js" "$web/worker.js" "$web/offline.js" "crates/report/assets/report.js" "crates/site/assets/docs.js" "$live/common.js $live/chipmap.js $live/charts.js $live/live.js" \
    "$live/common.js $live/chipmap.js $live/charts.js $live/replay.js"; do
    # shellcheck disable=SC2086 # the files of one page
    node "$tsc" --allowJs --checkJs --noEmit --strict --noUnusedLocals --noImplicitReturns --target es2022 \
        --lib es2022,dom,dom.iterable $page
done
[[ -f $oxlint ]] || skip "their types are right, but the registry's package has no oxlint"
chmod +x "$oxlint"
# Scripts of one page use each other's names, which tsc has checked; messages to a worker have no origin; and what awaits in a loop waits for the turn
# before it.
"$oxlint" --deny-warnings -D correctness -D suspicious -D perf -A unicorn/consistent-function-scoping -A no-unused-vars \
    -A unicorn/require-post-message-target-origin -A no-await-in-loop crates/*/assets/*.js
