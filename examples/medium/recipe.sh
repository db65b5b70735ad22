# shellcheck shell=bash disable=SC2034,SC2154 # sourced by try.sh
# A medium: a file, its two lines, a row of the reference, which `catalogue` asks for.
tests=()

add() {
    place worn.rs crates/media/src
    line crates/media/src/lib.rs "mod registry;" "mod worn;"
    line crates/media/src/registry.rs "    crate::ram::ENTRY," "    crate::worn::ENTRY,"
    line docs/server-reference.md "| \`ram:\` |" "| \`worn:\` | a chip in memory of which every 50th block is bad |"
}

prove() {
    shows '`worn:`' "$thermocline" serve --help
    shows "served" "$thermocline" serve worn: --capacity 32MiB --run 'echo served'
}
