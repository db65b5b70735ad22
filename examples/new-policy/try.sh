#!/bin/sh
# Adds greedy-even to a copy of the project, as CONTRIBUTING.md tells, and shows that this was all:
# one file, one registry line. Fails loudly if the policy is missing anywhere.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

NAME=greedy-even
MODULE=greedy_even
WORK=${CARGO_TARGET_DIR:-$root/target}/new-policy
case $WORK in /*) ;; *) WORK=$PWD/$WORK ;; esac
COPY=$WORK/project
VICTIMS=$COPY/crates/policy/src/victim

fail() {
    echo "try.sh: $*" >&2
    exit 1
}
# The text that is expected in the output of a step, and what the step is.
expect() {
    grep -qF -- "$1" "$WORK/output" || { cat "$WORK/output" >&2; fail "no '$1' in $2"; }
}

# A copy of the project's own files, tracked or about to be. The dates stay, so that what did not change is not built again.
rm -rf "$COPY"
mkdir -p "$COPY"
cd "$root"
if git ls-files --cached --others --exclude-standard >"$WORK/files" 2>/dev/null && [ -s "$WORK/files" ]; then
    while IFS= read -r file; do [ ! -f "$file" ] || echo "$file"; done <"$WORK/files" >"$WORK/there"
    tar -cf - -T "$WORK/there" | tar -xf - -C "$COPY"
else # not a clone
    tar -cf - --exclude=./target --exclude=./.git . | tar -xf - -C "$COPY"
fi
[ -f "$VICTIMS/mod.rs" ] || fail "the copy has no victim policies"

# One file, one line (which Rust spells as two).
cp -p "$here/$MODULE.rs" "$VICTIMS/"
sed -e "s/^mod greedy;/&\nmod $MODULE;/" -e "s/^    greedy::ENTRY,/&\n    $MODULE::ENTRY,/" \
    "$VICTIMS/mod.rs" >"$WORK/mod.rs"
added=$(diff "$VICTIMS/mod.rs" "$WORK/mod.rs" | grep -c '^[<>]' || true)
[ "$added" = 2 ] || fail "victim/mod.rs is no longer what this script expects"
for newest in "$VICTIMS/mod.rs" "$here/try.sh"; do
    [ "$newest" -ot "$VICTIMS/mod.rs" ] || touch -r "$newest" "$WORK/mod.rs"
done
cp -p "$WORK/mod.rs" "$VICTIMS/mod.rs"

# Build quickly: little optimization, of what others wrote only of logarithms, no debugging information.
cd "$COPY"
export CARGO_TARGET_DIR="$WORK/target" CARGO_INCREMENTAL=0
export CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_TEST_OPT_LEVEL=1 CARGO_PROFILE_TEST_DEBUG=false
cargo() {
    command cargo "$@" --locked --config 'profile.dev.package."*".opt-level=0' \
        --config profile.dev.package.libm.opt-level=1
}
cargo build --quiet --package thermocline-cli
thermocline=$CARGO_TARGET_DIR/debug/thermocline

"$thermocline" policies $NAME | tee "$WORK/output"
expect "victim $NAME" "the catalogue"
expect "Source: examples/new-policy" "the catalogue"

# Run it beside greedy, whose copies it should make and not its wear.
input="--capacity 64MiB --workload hot-cold:90/10 --bytes 512MiB"
figure() { # of the run of a victim policy
    "$thermocline" run $input --policy greedy --victim "$2" --check --json >"$WORK/output"
    grep -qF "\"victim\": \"$2\"" "$WORK/output" || fail "run did not use $2"
    sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" "$WORK/output" | head -n 1
}
erases=$(figure blocks_erased $NAME)
wear=$(figure stddev $NAME)
awk -v erases="$erases" -v of_greedy="$(figure blocks_erased greedy)" \
    -v wear="$wear" -v uneven="$(figure stddev greedy)" 'BEGIN {
    exit !(erases > 0 && erases < 1.02 * of_greedy && wear > 0 && wear < 0.75 * uneven) }' ||
    fail "$NAME: $erases erases, wear stddev $wear: greedy has $(figure stddev greedy)"

"$thermocline" compare $input --no-oracle --victim greedy,$NAME,cat --placement one-stream |
    tee "$WORK/output"
for policy in greedy $NAME cat; do
    expect "  $policy + one-stream " "the comparison"
done

# The tests that cover every registered policy without being touched.
cargo test --package thermocline-policy --package thermocline-ftl \
    --test exact_victims --test conformance >"$WORK/output" 2>&1 ||
    { cat "$WORK/output" >&2; fail "the tests failed"; }
for test in every_variant_of_every_policy_is_searched_exactly \
    a_choice_is_a_candidate_and_comes_again_with_its_seed \
    invariants_hold_under_skewed_traffic_with_trims the_fullest_device_can_be_written_for_ever \
    two_runs_are_equal; do
    expect "test $test ... ok" "the tests"
done
grep '^test result: ok' "$WORK/output"
echo "$NAME: one file, one line; listed, run, compared and tested."
