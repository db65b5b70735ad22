# shellcheck shell=bash disable=SC2034,SC2154 # sourced by try.sh
# A paper: its files, which the build finds; the verdicts are the program's to write.
tests=()

add() {
    place paper.toml papers/example
    place table-1.toml papers/example
}

prove() {
    shows "2 claims not recorded yet" "$thermocline" reproduce example
    # Afterwards what was accepted is what a run is held against.
    shows "reproduced" "$thermocline" reproduce papers/example/table-1.toml --accept
    [[ -s papers/example/verdicts.toml ]] || fail "$example: no verdicts were written"
}
