# shellcheck shell=bash disable=SC2034,SC2154 # sourced by try.sh
# A medium: a file, its line (which Rust spells as two), its row.
media=crates/media/src
tests=()
unoptimised+=(media)

add() {
    place worn.rs $media
    line $media/lib.rs "mod registry;" "mod worn;"
    line $media/registry.rs "    crate::ram::ENTRY," "    crate::worn::ENTRY,"
    line docs/server-reference.md '| `ram:` | a chip in memory' '| `worn:` | a chip in memory that wears out; an example |'
}

prove() {
    shows "worn:" "$thermocline" serve --help
    # Served like any other, while a command runs.
    shows "it is served" "$thermocline" serve worn: --capacity 32MiB --run 'echo "it is served"'
}
