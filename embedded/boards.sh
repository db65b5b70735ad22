#!/bin/bash
# Builds the programs for boards (boards), each with the HAL crate of its chip: RP2350, STM32F411, nRF52840 with Embassy, ESP32-C3.
# `make test` leaves them out, as the crates of the chips' registers are large.
#
#   embedded/boards.sh           all: ten minutes the first time
#   embedded/boards.sh rp2350    one of them
#
# The programs are in target/embedded/boards. None was run on hardware.
set -euo pipefail

cd "$(dirname "$0")/boards"
target=$(mkdir -p "${CARGO_TARGET_DIR:-../../target}/embedded/boards" && cd "${CARGO_TARGET_DIR:-../../target}/embedded/boards" && pwd)
unset CARGO_TARGET_DIR
boards=("$@")
[ $# -gt 0 ] || boards=(*/)
for board in "${boards[@]}"; do
    # The board's .cargo/config.toml names its processor, and is read there alone.
    cd "$board"
    processor=$(sed -n 's/^target = "\(.*\)"/\1/p' .cargo/config.toml)
    rustup target add "$processor" 2> /dev/null
    rustfmt --check --edition 2024 --config-path ../../.. src/main.rs
    echo "${board%/}, for $processor:"
    cargo build --quiet --locked --release --target-dir "$target"
    ls "$target/$processor/release/thermocline-on-${board%/}"
    cd ..
done
