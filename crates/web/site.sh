#!/usr/bin/env bash
# The playground and the documentation as files for any web server, without a network of its own: target/site/VERSION, beside the versions that are
# there already, and again as target/site/latest. Serve it, for example by `python3 -m http.server --directory target/site`.
#
#   crates/web/site.sh              builds it
#   crates/web/site.sh --list SITE  only lists the versions in that folder, and makes the newest `latest`
#   crates/web/site.sh --check      checks that it can be built; exit code 77 where Rust's target is missing
#
# Environment: VERSION, that of the workspace if not set. PROFILE, the profile of Cargo's, `web` if not set. THERMOCLINE_SKIPPED, a file that gets a line for what is skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=${CARGO_TARGET_DIR:-target}
profile=${PROFILE:-web}
# Not wasm32-unknown-unknown, where the crate that draws charts measures letters in a page, which a worker has not.
triple=wasm32-wasip1

# The versions of a site, the newest first, for the choice on each page.
list() {
    local site=$1 versions
    mapfile -t versions < <(cd "$site" && for page in */offline.js; do [[ $page == latest/* || ! -f $page ]] || dirname "$page"; done | sort --version-sort --reverse)
    rm -rf "$site/latest"
    cp -r "$site/${versions[0]}" "$site/latest"
    printf '%s\n' "${versions[@]}" | sed -e 's/.*/"&"/' -e '$!s/$/,/' -e '1s/^/[/' -e '$s/$/]/' >"$site/versions.json"
    # Addresses without a version lead to the newest; settings go along.
    echo '<!doctype html><html lang="en"><meta charset="utf-8"><title>Thermocline</title><script>location.replace("latest/" + location.hash)</script><p><a href="latest/">Thermocline</a></p></html>' >"$site/index.html"
}

if [[ ${1:-} == --list ]]; then
    list "$2"
    exit
fi

missing() {
    echo "crates/web/site.sh: Rust's target $triple is missing; install it by: rustup target add $triple" >&2
    [[ ${1:-} == --check ]] || exit 1
    [[ -z ${THERMOCLINE_SKIPPED:-} ]] || echo "crates/web/site.sh: rustup cannot get Rust's target $triple" >>"$THERMOCLINE_SKIPPED"
    exit 77
}

[[ -d $(rustc --print target-libdir --target $triple) ]] || rustup target add $triple || missing "$@"
if [[ ${1:-} == --check ]]; then
    exec cargo check --quiet --locked --target $triple --package thermocline-web
fi
cargo build --locked --profile "$profile" --target $triple --package thermocline-web

version=${VERSION:-$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)}
site=$target/site/$version
rm -rf "$site"
mkdir -p "$site/corpus"
page=(docs/versions.js index.html playground.css playground.js simulator.js worker.js watch.js own.js common.js charts.js fzstd.js thermocline.wasm.packed)
cp crates/web/assets/{index.html,playground.css,playground.js,simulator.js,worker.js,watch.js,own.js} crates/live/assets/{common.js,charts.js} crates/web/vendor/fzstd.js "$site"
cp corpus/*.tct "$site/corpus"
cargo run --quiet --locked --package thermocline-site -- "$site/docs"
built=$profile
[[ $profile == dev ]] && built=debug
wasm=$target/$triple/$built/thermocline_web.wasm
if command -v zstd >/dev/null; then
    zstd --quiet --ultra -22 -c "$wasm" >"$site/thermocline.wasm.packed"
else
    echo "crates/web/site.sh: there is no zstd, so the page packs the simulator by gzip, which takes half as many bytes again" >&2
    gzip -9nc "$wasm" >"$site/thermocline.wasm.packed"
fi
# A page that a browser keeps is replaced when a file of it changes.
contents=$(cd "$site" && find "${page[@]}" docs -type f -print0 | sort -z | xargs -0 cat | sha256sum | cut -c1-16)
sed "s/@VERSION@/$contents/" crates/web/assets/offline.js >"$site/offline.js"
echo "$site: $(cd "$site" && cat "${page[@]}" offline.js | wc -c) bytes for a first visit"
list "$target/site"
