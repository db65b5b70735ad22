#!/bin/bash
# Writes the list of components of the command line in CycloneDX's format: target/dist/thermocline-VERSION.cdx.json.
# cargo-cyclonedx is compiled first where it is missing (two minutes).
set -euo pipefail

root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
cd "$root"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
PATH=$target/sbom/bin:$PATH
command -v cargo-cyclonedx > /dev/null || cargo install --quiet --locked --root "$target/sbom" --target-dir "$target/sbom/target" cargo-cyclonedx@0.5.9
# It writes beside the manifest of each crate that is linked.
cargo cyclonedx --quiet --format json --describe binaries --features thermocline-cli/parquet,thermocline-cli/pdf,thermocline-cli/tls --manifest-path crates/cli/Cargo.toml
mkdir -p "$target/dist"
mv crates/cli/thermocline_bin.cdx.json "$target/dist/thermocline-$version.cdx.json"
rm -f crates/*/*.cdx.json
echo "$target/dist/thermocline-$version.cdx.json"
