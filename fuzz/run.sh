#!/usr/bin/env bash
# The fuzz targets, each for a while; THERMOCLINE_FUZZ_SECONDS says for how long (60 by default).
#
#   fuzz/run.sh [image|nbd|control|http|trace]...        all of them by default
#
# They need a nightly compiler and cargo-fuzz (`cargo install cargo-fuzz`). Exit code 77 where they are not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    reason="fuzz targets: a nightly compiler and cargo-fuzz are not there"
    echo "skipped: $reason"
    [[ -z ${THERMOCLINE_SKIPPED:-} ]] || echo "$reason" >>"$THERMOCLINE_SKIPPED"
    exit 77
fi
targets=("$@")
((${#targets[@]})) || targets=(image nbd control http trace)
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    seeds=()
    [[ ! -d seeds/$target ]] || seeds+=("seeds/$target")
    [[ $target != trace ]] || seeds+=(../crates/trace/tests/data)
    # Its server has threads, and what one is about to free when it ends is no leak.
    leaks=1
    [[ $target != http ]] || leaks=0
    ASAN_OPTIONS=detect_leaks=$leaks cargo +nightly fuzz run --fuzz-dir . "$target" "corpus/$target" "${seeds[@]}" -- \
        -max_total_time="${THERMOCLINE_FUZZ_SECONDS:-60}" -rss_limit_mb=2048 -timeout=20
done
