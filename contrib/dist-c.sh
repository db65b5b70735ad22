#!/bin/bash
# Makes the archive of the C library: headers, static libraries, CMake and pkg-config files, examples, licences, checksums.
#
#   contrib/dist-c.sh            target/dist/thermocline-c-VERSION.tar.gz, for each processor whose Rust library is installed
#   contrib/dist-c.sh --add      gets the libraries that are missing first (rustup)
set -euo pipefail

root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
cd "$root"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=thermocline-c-$version
into=$target/dist/$name
# Cortex-M0+, M3, M4F, M33 and RV32IMAC.
processors=(thumbv6m-none-eabi thumbv7m-none-eabi thumbv7em-none-eabihf thumbv8m.main-none-eabihf riscv32imac-unknown-none-elf)
host=$(rustc -vV | sed -n 's/^host: //p')
[ "${1:-}" != --add ] || rustup target add "${processors[@]}"
installed=$(rustc --print sysroot)/lib/rustlib

rm -rf "$into"
mkdir -p "$into/include" "$into/lib/cmake/thermocline" "$into/share/thermocline"
build() {
    local of=$1
    shift
    echo "$of"
    cargo rustc --quiet --locked --release --package thermocline-embedded-c --target "$of" --target-dir "$target/dist-c/$of" \
        --crate-type staticlib "$@"
    mkdir -p "$into/lib/$of/pkgconfig"
    cp "$target/dist-c/$of/$of/release/libthermocline_c.a" "$into/lib/$of/libthermocline.a"
}
# Each is one unit of code: a processor for each, as far as there are any.
running=()
for_one() {
    if ((${#running[@]} >= $(nproc))); then
        wait "${running[0]}"
        running=("${running[@]:1}")
    fi
    build "$@" &
    running+=($!)
}
for processor in "${processors[@]}"; do
    if [ ! -d "$installed/$processor" ]; then
        echo "dist-c.sh: left out, for its Rust library is not installed: $processor" >&2
        continue
    fi
    for_one "$processor" --no-default-features --config 'profile.release.opt-level="s"' -- -C panic=abort
done
for_one "$host"
for build in "${running[@]}"; do wait "$build"; done

cp crates/embedded-c/include/*.h "$into/include"
cp LICENSE-APACHE LICENSE-MIT "$into"
cp crates/embedded-c/dist/README.md "$into"
cp crates/embedded-c/examples/c/*.c "$into/share/thermocline"
sed "s/@HOST@/$host/g" crates/embedded-c/dist/thermoclineConfig.cmake > "$into/lib/cmake/thermocline/thermoclineConfig.cmake"
sed "s/@VERSION@/$version/" crates/embedded-c/dist/thermoclineConfigVersion.cmake > "$into/lib/cmake/thermocline/thermoclineConfigVersion.cmake"
for library in "$into"/lib/*/libthermocline.a; do
    of=$(basename "$(dirname "$library")")
    system=
    [ "$of" != "$host" ] || system="-lpthread -ldl -lm"
    sed "s/@VERSION@/$version/; s/@TARGET@/$of/; s/@SYSTEM@/$system/" crates/embedded-c/dist/thermocline.pc > "$into/lib/$of/pkgconfig/thermocline.pc"
done
(cd "$into" && find . -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum > SHA256SUMS)
# The same bytes each time.
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime='2000-01-01 00:00Z' -C "$target/dist" -cf - "$name" | gzip -9n > "$into.tar.gz"
(cd "$target/dist" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
echo "$into.tar.gz"
