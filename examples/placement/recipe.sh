# shellcheck shell=bash disable=SC2034,SC2154 # sourced by try.sh
# Generations: a file, its line (which Rust spells as three), its row.
placements=crates/policy/src/placement
tests=("policies documented" "page_mapped conformance")

add() {
    place generations.rs $placements
    line $placements/mod.rs "mod fine_grained;" "mod generations;"
    line $placements/mod.rs "pub use fine_grained::" "pub use generations::Generations;"
    line $placements/mod.rs "    FineGrained," "    Generations,"
    line docs/policies.md '| `sep-gc` | 2 | 0 | 0 |' '| `generations` | 3 | 4 | 0 | pages by the cleanings they survived | an example |'
}

prove() {
    shows "Source: examples/placement" "$thermocline" policies generations
    # Fewer copies than with one stream; the same when the tables are thrown away is for the tests to say.
    local input=(--capacity 64MiB --workload hot-cold:90/10 --bytes 512MiB --victim greedy --check)
    local one three
    one=$(figure pages_copied "${input[@]}" --placement one-stream)
    three=$(figure pages_copied "${input[@]}" --placement generations)
    holds "$three > 0 && $three < 0.9 * $one"
}
