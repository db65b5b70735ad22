#!/usr/bin/env bash
# Adds the examples of this folder to a copy of the project as CONTRIBUTING.md tells, builds it, and shows that
# each was added completely.
#
#   examples/try.sh                  all of them, in one build
#   examples/try.sh victim device    these
#
# An example is a folder with the files to add and a recipe.sh of two functions: `add` puts the files and their
# registry lines into the copy, `prove` runs what must work then. `tests` names test binaries to be run, each perhaps
# with words of which the names of its tests must have one. A recipe that changes a crate which has little to do here
# adds it to `unoptimised`, so that building it anew is quick.
#
# What the checkout's own target directory holds is not built again: only what an example changes, and what
# depends on it. FEATURES must be those with which the checkout was built (`make test` sets them).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
target=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
work=$target/examples
copy=$work/project
output=$work/output

fail() {
    echo "try.sh: $*" >&2
    exit 1
}

# ------------------------------------------------------------------------------------- what recipes call

# place FILE FOLDER: copies a file of the example into a folder of the project, which it makes.
place() {
    mkdir -p "$copy/$2"
    [[ ! -e $copy/$2/$1 ]] || fail "$example: $2/$1 is there already"
    cp "$here/$example/$1" "$copy/$2/"
}

# line FILE AFTER TEXT: puts TEXT behind the one line of FILE that begins with AFTER.
line() {
    local found
    found=$(awk -v after="$2" 'index($0, after) == 1' "$copy/$1" | wc -l)
    [[ $found == 1 ]] || fail "$example: $1 has $found lines that begin with '$2', not one: mend examples/$example/recipe.sh"
    awk -v after="$2" -v text="$3" '{ print } index($0, after) == 1 { print text }' "$copy/$1" >"$work/edited"
    cp "$work/edited" "$copy/$1"
}

# shows TEXT COMMAND...: fails unless the command succeeds and prints TEXT.
shows() {
    local text=$1
    shift
    "$@" >"$output" 2>&1 || { cat "$output" >&2; fail "$example: $* fails"; }
    grep -qF -- "$text" "$output" || { cat "$output" >&2; fail "$example: no '$text' in the output of $*"; }
}

# figure KEY ARGUMENT...: a figure of a run, by its key in the JSON.
figure() {
    "$thermocline" run "${@:2}" --json >"$output" || fail "$example: run ${*:2} fails"
    sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" "$output" | head -n 1
}

# holds CONDITION: fails unless it is true of numbers, as in `holds "1.5 < 2"`.
holds() { awk "BEGIN { exit !($1) }" || fail "$example: not so: $1"; }

# -------------------------------------------------------------------------------------------- the copy

# The project's own files, tracked or about to be. The dates stay, so that what did not change is not built again.
copy_project() {
    rm -rf "$work"
    mkdir -p "$copy"
    cd "$root"
    if git ls-files --cached --others --exclude-standard >"$work/files" 2>/dev/null && [[ -s $work/files ]]; then
        while IFS= read -r file; do [[ ! -f $file ]] || echo "$file"; done <"$work/files" >"$work/there"
        tar -cf - -T "$work/there" | tar -xf - -C "$copy"
    else # not a clone
        tar -cf - --exclude=./target --exclude=./.git . | tar -xf - -C "$copy"
    fi
}

# What was built, as links; what Cargo notes of it is written in place, and so is copied.
copy_built() {
    mkdir -p "$work/target/debug"
    if [[ -d $target/debug/deps ]]; then
        cp -al "$target/debug/deps" "$work/target/debug/"
        cp -a "$target/debug/build" "$target/debug/.fingerprint" "$work/target/debug/"
    fi
}

# ------------------------------------------------------------------------------------------- all of it

examples=("$@")
if ((!$#)); then
    for recipe in "$here"/*/recipe.sh; do examples+=("$(basename "$(dirname "$recipe")")"); done
fi
for example in "${examples[@]}"; do
    [[ -f $here/$example/recipe.sh ]] || fail "no example is called '$example'"
done

copy_project
tests_of_all=()
# The simulator compiles the layer for every placement.
unoptimised=(sim)
for example in "${examples[@]}"; do
    # shellcheck source=/dev/null
    source "$here/$example/recipe.sh"
    add
    tests_of_all+=("${tests[@]}")
done
copy_built

cd "$copy"
export CARGO_TARGET_DIR=$work/target
thermocline=$work/target/debug/thermocline
quickly=()
for crate in "${unoptimised[@]}"; do quickly+=(--config "profile.dev.package.thermocline-$crate.opt-level=0"); done
cargo_test() { # the words of a test, for Cargo
    cargo test --locked --workspace ${FEATURES:+--features "$FEATURES"} "${quickly[@]}" "$@" >"$output" 2>&1 ||
        { cat "$output" >&2; fail "cargo test $* fails with ${examples[*]}"; }
}
# `catalogue` is a test of the command line, which therefore is built too.
mapfile -t tests_of_all < <(printf '%s\n' catalogue "${tests_of_all[@]}" | sort -u)
mapfile -t binaries < <(printf '%s\n' "${tests_of_all[@]%% *}" | sort -u)
cargo_test --no-run "${binaries[@]/#/--test=}"
for test in "${tests_of_all[@]}"; do
    read -ra words <<<"$test"
    cargo_test --test="${words[0]}" -- "${words[@]:1}"
    grep -q '^test result: ok. [1-9]' "$output" || fail "no test is called $test"
done
for example in "${examples[@]}"; do
    # shellcheck source=/dev/null
    source "$here/$example/recipe.sh"
    prove
    echo "$example: added, run and tested"
done
