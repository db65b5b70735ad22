#!/usr/bin/env bash
# Types the README's lines as they are printed, in a copy of the project as a fresh clone has it, and holds the
# table of the README against what `make demo` prints.
#
#   THERMOCLINE=target/debug/thermocline examples/readme.sh
#
# The binary of THERMOCLINE stands where `make demo` would build one; Cargo is not asked. `make test` is not
# typed: it runs this script.
set -euo pipefail

root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
target=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
thermocline=$(realpath "${THERMOCLINE:-$target/debug/thermocline}")
work=$target/readme
clone=$work/thermocline

fail() {
    echo "readme.sh: $*" >&2
    exit 1
}

rm -rf "$work"
mkdir -p "$clone" "$work/bin"
cd "$root"
if git ls-files --cached --others --exclude-standard >"$work/files" 2>/dev/null && [[ -s $work/files ]]; then
    while IFS= read -r file; do [[ ! -f $file ]] || echo "$file"; done <"$work/files" | tar -cf - -T - | tar -xf - -C "$clone"
else # not a clone
    tar -cf - --exclude=./target --exclude=./.git . | tar -xf - -C "$clone"
fi
mkdir -p "$clone/target/quick"
ln -s "$thermocline" "$clone/target/quick/thermocline"
printf '#!/bin/sh\nexit 0\n' >"$work/bin/cargo"
chmod +x "$work/bin/cargo"

# The lines of code blocks, fenced or indented below a step, each command on one line.
awk '/^```/ { fenced = !fenced; next } fenced { print; next } /^       / { print substr($0, 8) }' README.md |
    sed -e ':a' -e '/\\$/N; s/\\\n */ /; ta' -e 's/ *#.*//' -e '/^ *$/d' -e '/^make test$/d' >"$work/lines"
# Commands with arguments that stand in the text.
grep -oE '`thermocline [a-z]+ [^`]*`' README.md | tr -d '`' >>"$work/lines"
path=$(grep -oE '`export PATH=[^`]*`' README.md | tr -d '`')
[[ -n $path ]] || fail "README.md tells no export PATH"
(($(wc -l <"$work/lines") >= 6)) || fail "README.md has too few lines to type: $(cat "$work/lines")"

unset CARGO_TARGET_DIR MAKEFLAGS MAKELEVEL
export PATH="$work/bin:$PATH"
cd "$clone"
eval "$path"
# What stands for the reader's own trace.
thermocline trace convert --quiet --limit 20000 corpus/sqlite-ext4.tct mytrace.csv.gz
while IFS= read -r line; do
    echo "\$ $line"
    bash -euc "$line" >"$work/output" 2>&1 </dev/null || { cat "$work/output" >&2; fail "README.md: this line fails: $line"; }
    if [[ $line == "make demo" ]]; then cp "$work/output" "$work/demo"; fi
done <"$work/lines"

[[ -f $work/demo ]] || fail "README.md does not tell to make demo"
rows=0
while IFS='|' read -r _ policy amplification _; do
    policy=${policy//[ *]/} amplification=${amplification//[ *]/}
    policy=${policy%%(*}
    [[ $amplification =~ ^[0-9]+\.[0-9]+$ ]] || continue
    grep -E "(^|[^a-z-])$policy([^a-z-]|$)" "$work/demo" | grep -qF "$amplification" ||
        fail "README.md has $policy at $amplification, and make demo does not print that"
    rows=$((rows + 1))
done <README.md
((rows >= 5)) || fail "README.md has $rows policies in its table"
echo "README.md: $(wc -l <"$work/lines") lines typed, $rows rows of its table found"
rm -rf "$work"
