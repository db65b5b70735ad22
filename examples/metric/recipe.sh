# shellcheck shell=bash disable=SC2034,SC2154 # sourced by try.sh
# A metric: one field, whose declaration is all there is; the reference is the test's to write.
tests=("simulator result_keys")

add() {
    line crates/sim/src/result/cleaning.rs "            => Look::line(\"cost by this device's times\"" \
        '        /// Pages copied for each block erased.
        pub copies_an_erase: f64 = facts.layer.copies as f64 / facts.layer.erases.max(1) as f64
            => Look::line("copies an erase", Format::Fixed(1)).less(),'
    export UPDATE_REFERENCE=1
}

prove() {
    shows "copies an erase" "$thermocline" run --workload hot-cold:90/10 --capacity 16MiB --bytes 32MiB
    shows '"copies_an_erase"' "$thermocline" run --workload hot-cold:90/10 --capacity 16MiB --bytes 32MiB --json
    shows "copies_an_erase" cat "$copy/docs/results.md"
}
