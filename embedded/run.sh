#!/bin/bash
# Runs the layer on microcontrollers: builds it for four processors, then lets QEMU run the conformance tests, which cut
# the power at every operation, a program whose size is measured, and the example in C, also as CMake and Meson build it.
# The doors of Zephyr and ESP-IDF run on this computer (rtos.sh).
# Checks first that the crates below the server that need no operating system compile without one.
#
#   embedded/run.sh               everything: two minutes
#   embedded/run.sh --packages    prints the Debian packages it needs
#
# Installs these packages (systems/install.sh) and Rust's libraries for the processors (rustup) first.
# Exit: 0 all passed, 1 something failed, 77 this machine cannot: no QEMU, no rustup, and no way to get them.
set -euo pipefail

packages=(qemu-system-arm qemu-system-misc gcc-arm-none-eabi libnewlib-arm-none-eabi cmake meson ninja-build pkg-config)
if [ "${1:-}" = --packages ]; then printf '%s\n' "${packages[@]}"; exit; fi
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
target=$(cd .. && mkdir -p "${CARGO_TARGET_DIR:-target}/embedded" && cd "${CARGO_TARGET_DIR:-target}/embedded" && pwd)
skip() {
    [ -z "${THERMOCLINE_SKIPPED:-}" ] || echo "embedded/run.sh: $1" >> "$THERMOCLINE_SKIPPED"
    echo "embedded: skipped: $1" >&2
    exit 77
}

"$here/../systems/install.sh" "${packages[@]}" || skip "these packages cannot be installed: ${packages[*]}"
for program in rustup qemu-system-arm qemu-system-riscv32 arm-none-eabi-gcc cmake meson ninja pkg-config; do
    command -v "$program" > /dev/null || skip "no $program"
done
processors=(thumbv6m-none-eabi thumbv7m-none-eabi thumbv7em-none-eabihf riscv32imac-unknown-none-elf)
rustup target add "${processors[@]}" 2> /dev/null || skip "rustup cannot get Rust's libraries for ${processors[*]}"

# A program on a machine of QEMU's, for at most that many seconds.
machine() {
    local seconds=$1 arch=$2 machine=$3 program=$4
    timeout "$seconds" "qemu-system-$arch" -M "$machine" -nographic -monitor none -serial none ${5:-} \
        -semihosting-config enable=on,target=native -kernel "$program" < /dev/null
}

echo "flash, policy, ftl, fswatch and spi-nand without std:"
cargo check --quiet --locked --manifest-path ../Cargo.toml --target-dir "$target" --target thumbv7em-none-eabihf \
    --package thermocline-flash --package thermocline-policy --package thermocline-ftl --package thermocline-fswatch --package thermocline-spi-nand --features thermocline-spi-nand/async,thermocline-spi-nand/defmt

# The archive, and the guide, which makes it again, while QEMU runs: each of them keeps one processor busy.
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
{
    echo "C, the archive:"
    ../contrib/dist-c.sh
    echo "the guide of the driver for SPI NAND, typed:"
    ./guide.sh
} > "$target/archive.log" 2>&1 &
archive=$!
for processor in "${processors[@]}"; do
    cargo build --quiet --locked --release --manifest-path programs/Cargo.toml --target-dir "$target" --target "$processor"
    case $processor in
        thumbv6m*) continue ;; # QEMU has no Cortex-M0 with room for the tests; its instructions are a part of the M3's
        thumbv7m*) on=(arm mps2-an385) ;;
        thumbv7em*) on=(arm mps2-an386) ;;
        *) on=(riscv32 virt) ;;
    esac
    bios=
    [ "${on[0]}" = arm ] || bios="-bios none"
    for program in size size_async spi conformance; do
        echo "$processor, $program:"
        machine 900 "${on[@]}" "$target/$processor/release/$program" "$bios"
    done
done
echo "thumbv6m-none-eabi, on a Cortex-M3:"
machine 900 arm mps2-an385 "$target/thumbv6m-none-eabi/release/size"

status=0
wait "$archive" || status=$?
cat "$target/archive.log"
((status == 0)) || exit 1
dist=$(echo "$target"/../dist/thermocline-c-*/)
# Linked with nothing but what its functions need, the library has no panic left: whatever a chip says, none can be reached.
functions=$(grep -o 'thermocline_[a-z_]*(' ../crates/embedded-c/include/thermocline.h | sort -u | sed 's/(//; s/^/-Wl,-u,/')
# shellcheck disable=SC2086 # words
for processor in thumbv6m-none-eabi thumbv7m-none-eabi thumbv7em-none-eabihf; do
    arm-none-eabi-gcc --specs=nosys.specs -nostartfiles -Wl,--gc-sections,--no-warnings \
        -Wl,-e,thermocline_mount $functions -o "$target/all.elf" "$dist/lib/$processor/libthermocline.a"
    if arm-none-eabi-nm -C "$target/all.elf" | grep -i 'panic\|unwind'; then
        echo "embedded/run.sh: a panic can be reached: the functions above are in the library for $processor" >&2
        exit 1
    fi
done
arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -std=gnu99 -Wall -Wextra -Os --specs=rdimon.specs -nostartfiles -Wl,-z,noexecstack \
    -I ../crates/embedded-c/include -T programs/machines/mps2.ld -o "$target/ram.elf" \
    c/startup.c ../crates/embedded-c/examples/c/ram.c "$dist/lib/thumbv7em-none-eabihf/libthermocline.a"
machine 900 arm mps2-an386 "$target/ram.elf"

echo "the disk for Zephyr and the component of ESP-IDF:"
./rtos.sh "$dist" "$target"

echo "the same by CMake and by Meson:"
rm -rf "$target/cmake" "$target/meson"
cmake -S c -B "$target/cmake" -G Ninja -D CMAKE_C_COMPILER=arm-none-eabi-gcc -D CMAKE_SYSTEM_NAME=Generic \
    -D CMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -D CMAKE_PREFIX_PATH="$(realpath "$dist")" -D THERMOCLINE_TARGET=thumbv7em-none-eabihf > /dev/null
cmake --build "$target/cmake" > "$target/cmake.log" 2>&1 || { cat "$target/cmake.log"; exit 1; }
machine 900 arm mps2-an386 "$target/cmake/firmware"
meson setup "$target/meson" c --cross-file c/cortex-m4.ini \
    --pkg-config-path "$(realpath "$dist")/lib/thumbv7em-none-eabihf/pkgconfig" > /dev/null
ninja -C "$target/meson" > "$target/meson.log" 2>&1 || { cat "$target/meson.log"; exit 1; }
machine 900 arm mps2-an386 "$target/meson/firmware"
