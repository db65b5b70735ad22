#!/bin/bash
# Builds the command line as one static file a processor, with TLS, Parquet and PDF: it needs no library of the system.
#
#   contrib/static.sh                  x86_64 and aarch64
#   contrib/static.sh x86_64           one of them
#
# Into target/dist: PROCESSOR-unknown-linux-musl/thermocline; an archive of it with man pages, completions, units and
# licences. The linker for musl comes from PyPI, the library from rustup.
#
# Without a binary that runs here, man pages come from the other one by qemu-user-static.
#
# Variables: STATIC_PROFILE, the profile of Cargo (release).
set -euo pipefail

root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
cd "$root"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
dist=$target/dist
tools=$target/static-tools
profile=${STATIC_PROFILE:-release}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
processors=("$@")
(($#)) || processors=(x86_64 aarch64)

# Man pages and completions are the same everywhere: a binary that runs here prints them, or an emulator does.
here=$dist/$(uname -m)-unknown-linux-musl/thermocline
emulator=
if [[ ! -x $here && " ${processors[*]} " != *" $(uname -m) "* ]]; then
    emulator=$(command -v "qemu-${processors[0]}-static" "qemu-${processors[0]}" | head -n 1) || true
    [ -n "$emulator" ] || { echo "static.sh: nothing here runs ${processors[0]}: apt-get install qemu-user-static, or build $(uname -m) first" >&2; exit 2; }
fi

if [ ! -x "$tools/bin/cargo-zigbuild" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check cargo-zigbuild==0.24.1 ziglang==0.17.1
fi
PATH=$tools/bin:$PATH
for processor in "${processors[@]}"; do
    of=$processor-unknown-linux-musl
    [ -d "$(rustc --print sysroot)/lib/rustlib/$of" ] || rustup target add "$of"
    cargo zigbuild --locked --profile "$profile" --package thermocline-cli --features parquet,pdf,tls --target "$of"
    mkdir -p "$dist/$of"
    cp "$target/$of/$profile/thermocline" "$dist/$of/thermocline"
done

if [ -n "$emulator" ]; then
    here=$tools/emulated
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$emulator" "$dist/${processors[0]}-unknown-linux-musl/thermocline" > "$here"
    chmod +x "$here"
fi
for processor in "${processors[@]}"; do
    name=thermocline-$version-linux-$processor
    rm -rf "${dist:?}/$name"
    make --no-print-directory install BINARY="$here" TARGET="$dist/made" DESTDIR="$dist/$name" PREFIX= > /dev/null
    rm -rf "$dist/made"
    cp "$dist/$processor-unknown-linux-musl/thermocline" "$dist/$name/bin/thermocline"
    sed -i 's|ExecStart=/bin/|ExecStart=/usr/local/bin/|' "$dist/$name"/lib/systemd/system/*.service
    cp LICENSE-APACHE LICENSE-MIT CHANGELOG.md "$dist/$name"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime='2000-01-01 00:00Z' -C "$dist/$name" -czf "$dist/$name.tar.gz" .
    rm -r "${dist:?}/$name"
    echo "$dist/$name.tar.gz"
done
