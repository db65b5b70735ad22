#!/bin/bash
# Types what docs/spi-nand.md prints, in an empty folder: the lines of its console blocks, and each other block into the
# file whose name stands before it.
#
#   embedded/guide.sh   a minute
set -euo pipefail

root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
# Not below the repository: a project there would become a part of it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export THERMOCLINE=$root
# Of what a crate needs the versions that are here, not the newest.
export CARGO_NET_OFFLINE=true
unset MAKEFLAGS MAKELEVEL CARGO_TARGET_DIR

# `src/main.rs`: before a block is where it goes.
awk -v steps="$work/steps" '
    /^`[^`]+`:$/ { file = substr($0, 2, length($0) - 3) }
    /^```/ && !fenced { fenced = 1; console = /console/; if (!console) print "cat > " file " <<\"END\"" > steps; next }
    /^```/ { fenced = 0; if (!console) print "END" > steps; next }
    fenced { print > steps }
' "$root/docs/spi-nand.md"
sed -n 's/^It prints `\(.*\)`\..*/\1/p' "$root/docs/spi-nand.md" > "$work/expected"
(($(wc -l < "$work/expected") > 0)) || { echo "guide.sh: docs/spi-nand.md says nothing of what comes out" >&2; exit 1; }
cd "$work"
bash -euo pipefail steps > output 2>&1 || { cat output >&2; echo "guide.sh: a line of docs/spi-nand.md fails" >&2; exit 1; }
while IFS= read -r line; do
    grep -qF -- "$line" output || { cat output >&2; echo "guide.sh: docs/spi-nand.md promises: $line" >&2; exit 1; }
    echo "$line"
done < expected
