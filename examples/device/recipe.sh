# shellcheck shell=bash disable=SC2034,SC2154 # sourced by try.sh
# A device: a file and a line.
tests=()
unoptimised+=(media fswatch)

add() {
    place card-4m.toml crates/flash/profiles
    line crates/flash/src/profile.rs '    "samsung-k9f6408-8m",' '    "card-4m",'
}

prove() {
    shows "A small card of 4 MiB" "$thermocline" devices card-4m
    holds "$(figure blocks_erased --device card-4m --fill 90% --workload hot-cold:90/10 --bytes 4MiB --check) > 100"
}
