# shellcheck shell=bash disable=SC2034,SC2154 # sourced by try.sh
# Greedy that wears evenly: a file, its line (which Rust spells as two), its row.
victims=crates/policy/src/victim
tests=("policies exact_victims documented" "page_mapped conformance")

add() {
    place greedy_even.rs $victims
    line $victims/mod.rs "mod greedy;" "mod greedy_even;"
    line $victims/mod.rs "    greedy::ENTRY," "    greedy_even::ENTRY,"
    line docs/policies.md '| `greedy` | the fewest' '| `greedy-even` | the fewest valid pages | an example | the least erased among equals |'
}

prove() {
    shows "Source: examples/victim" "$thermocline" policies greedy-even
    # Beside greedy, whose copies it should make and not its wear.
    local input=(--capacity 64MiB --workload hot-cold:90/10 --bytes 512MiB --policy greedy --check)
    local greedy="$(figure blocks_erased "${input[@]}") $(figure stddev "${input[@]}")"
    local even="$(figure blocks_erased "${input[@]}" --victim greedy-even) $(figure stddev "${input[@]}" --victim greedy-even)"
    holds "${even% *} > 0 && ${even% *} < 1.02 * ${greedy% *}"
    holds "${even#* } > 0 && ${even#* } < 0.75 * ${greedy#* }"
    shows "  greedy-even + one-stream " "$thermocline" compare "${input[@]:0:6}" --no-oracle \
        --victim greedy,greedy-even,cat --placement one-stream
}
