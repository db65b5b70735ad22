# shellcheck shell=bash disable=SC2034,SC2154 # sourced by try.sh
# A logger's format: a file, its two lines, a sample. The fuzzer takes it from there.
formats=crates/trace/src/read/formats
tests=("traces readers")
unoptimised+=(trace filehost)

add() {
    place card_logger.rs $formats
    line $formats/mod.rs "mod blktrace;" "mod card_logger;"
    line $formats/mod.rs "    blktrace::ENTRY," "    card_logger::ENTRY,"
    place card-logger.txt crates/trace/tests/data
    line crates/trace/tests/traces/common/mod.rs "    let mut all = csv();" '    all.push(sample(
        "card-logger",
        data!("card-logger.txt"),
        &[(125_000, Write, 8192, 4096, 0), (250_000, Read, 0, 512, 0), (900_000, Write, 8192, 4096, 0)],
        &["0"],
    ));'
}

prove() {
    shows "card-logger" "$thermocline" trace formats
    shows "card-logger" "$thermocline" trace info "$here/trace-format/card-logger.txt"
}
