#!/usr/bin/env bash
# The pages that thermocline makes, in a real browser: what they say equals the JSON, nothing is loaded from elsewhere,
# the keyboard is enough, an accessibility checker finds nothing. A minute on two cores.
#
#   browser/run.sh                  the tests
#   browser/run.sh --packages       the Debian packages that they need
#   browser/run.sh --pictures       takes the pictures of docs/pictures anew
#
# Environment: THERMOCLINE, the binary; otherwise that of `make build`. THERMOCLINE_SKIPPED, a file that gets a line for
# what is skipped. Exit code 77 if nothing could run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
THERMOCLINE=$(realpath -m "${THERMOCLINE:-${CARGO_TARGET_DIR:-$root/target}/release/thermocline}")
export THERMOCLINE
packages=(chromium fio fonts-dejavu-core nodejs python3)

skip() {
    echo "browser/run.sh: $*" >&2
    [[ -z ${THERMOCLINE_SKIPPED:-} ]] || echo "browser/run.sh: $*" >>"$THERMOCLINE_SKIPPED"
}

if [[ ${1:-} == --packages ]]; then
    echo "${packages[*]}"
    exit
fi
"$here/../systems/install.sh" "${packages[@]}"
for program in chromium fio python3; do
    command -v "$program" >/dev/null || { skip "needs $program; make test-tools installs it"; exit 77; }
done
if [[ ${1:-} == --pictures ]]; then
    python3 "$here/pictures.py" "$root/docs/pictures"
    exec python3 "$here/live.py" --pictures
fi
cd "$root"
python3 "$here/reports.py"
python3 "$here/live.py"
site=${CARGO_TARGET_DIR:-target}/site
# An older one may rightly say something else.
if [[ -f $site/latest/offline.js && -z $(find crates Cargo.lock -type f -newer "$site/latest/offline.js" -print -quit) ]]; then
    python3 "$here/playground.py" "$site"
else
    skip "the playground of these sources is not built; make browser builds and tests it"
fi
