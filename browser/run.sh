#!/usr/bin/env bash
# The pages that thermocline makes, in a real browser: what they say equals the JSON, nothing is loaded from elsewhere,
# the keyboard is enough, an accessibility checker finds nothing. Half a minute on two cores.
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
target=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
THERMOCLINE=$(realpath "${THERMOCLINE:-$target/release/thermocline}")
export THERMOCLINE
packages=(chromium fonts-dejavu-core python3)

skip() {
    echo "browser/run.sh: $*" >&2
    [[ -z ${THERMOCLINE_SKIPPED:-} ]] || echo "browser/run.sh: $*" >>"$THERMOCLINE_SKIPPED"
}

if [[ ${1:-} == --packages ]]; then
    echo "${packages[*]}"
    exit
fi
"$here/../systems/install.sh" "${packages[@]}"
for program in chromium python3; do
    command -v "$program" >/dev/null || { skip "needs $program; make test-tools installs it"; exit 77; }
done
if [[ ${1:-} == --pictures ]]; then
    exec python3 "$here/pictures.py" "$root/docs/pictures"
fi
# The accessibility checker comes from its registry, once.
axe=$target/browser/axe.min.js
if [[ ! -s $axe ]]; then
    mkdir -p "$(dirname "$axe")"
    if command -v npm >/dev/null && package=$(cd "$(dirname "$axe")" && npm pack --silent axe-core@4.10.3 2>/dev/null); then
        tar -xzOf "$(dirname "$axe")/$package" package/axe.min.js >"$axe"
    else
        skip "no accessibility checker: it needs npm and its registry"
    fi
fi
cd "$root"
python3 "$here/reports.py" "$axe"
