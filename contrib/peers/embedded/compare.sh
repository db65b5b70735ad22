#!/bin/bash
# Erasures, write amplification, mount time and worst write of this layer beside dhara and littlefs on equal work, and the cost of
# frequent power-ups: the tables of docs/embedding.md.
#
#   DHARA=~/bench-dhara LITTLEFS=~/bench-littlefs FILES=~/files contrib/peers/embedded/compare.sh
#
# DHARA and LITTLEFS are programs that you build: bench.c, compiled with -DDHARA and linked with dhara's map, journal and error
# modules; with -DLITTLEFS and linked with littlefs. FILES is a folder of programs that you build of files.c, which says how: fat-dhara,
# fat-thermocline, littlefs-dhara, littlefs-thermocline and littlefs-chip. A peer whose program is not named is left out. Needs cc,
# cargo and awk; five minutes. Every page is read back and compared after a mount.
set -euo pipefail
cd "$(dirname "$0")/../../.."
build=${CARGO_TARGET_DIR:-target}/peers
mkdir -p "$build"
rm -f "$build/dhara" "$build/littlefs"
source=contrib/peers/embedded/bench.c

cargo build --quiet --release --locked -p thermocline-embedded-c -p thermocline-cli
cc -O2 -DTHERMOCLINE -I crates/embedded-c/include "$source" "${CARGO_TARGET_DIR:-target}/release/libthermocline_c.a" -lm -lpthread -ldl -o "$build/thermocline"
for peer in DHARA LITTLEFS; do
    [ -z "${!peer:-}" ] || cp "${!peer}" "$build/${peer,,}"
done

# The pages of 2 KiB that SQLite on ext4 writes.
"${CARGO_TARGET_DIR:-target}/release/thermocline" --quiet trace convert corpus/sqlite-ext4.tct "$build/sqlite.csv" --ops=write
awk -F, 'NR > 1 { for (p = int($4 / 2048); p < ($4 + $5) / 2048; p++) print p }' "$build/sqlite.csv" > "$build/sqlite.pages"

echo '| full | work | layer | RAM | erasures | programs a page | mount | mean write | worst write |'
echo '|---|---|---|---|---|---|---|---|---|'
row() {
    local layer=$1 work=$2 full=$3 ram=$4 times=$5 said label=${6:-$1}
    local name=${work#"$build/"}
    [ -x "$build/$layer" ] || return 0
    if said=$("$build/$layer" "$work" "$full" "$ram" "$times" 2>&1); then
        read -r erases programs mount mean worst bytes <<< "$said"
        printf '| %s %% | %s | %s | %s | %s | %s | %s ms | %s µs | %s ms |\n' "$full" "${name%.pages}" "$label" \
            "$(awk "BEGIN { printf \"%.1f KiB\", $bytes / 1024 }")" "$erases" "$programs" "$mount" "$mean" "$worst"
    else
        printf '| %s %% | %s | %s | | %s | | | | |\n' "$full" "${name%.pages}" "$label" "${said#bench: }"
    fi
}
for full in 80 90; do
    for work in sequential uniform 90/10 zipf "$build/sqlite.pages"; do
        for ram in 16384 24576 32768 65536; do row thermocline "$work" "$full" "$ram" 3.5; done
        row dhara "$work" "$full" 0 3.5 "dhara, least gc_ratio"
        # What ESP-IDF sets, and the most.
        for ratio in 45 254; do RATIO=$ratio row dhara "$work" "$full" 0 3.5 "dhara, gc_ratio $ratio"; done
    done
done
# A hundredth of the writes: each rewrites half a block and a part of the directory.
for work in sequential uniform 90/10; do row littlefs "$work" 80 0 0.035; done

# Switched off after every few writes and a sync; uniform writes after half a chip of them. A fast bus (50 MB/s), and SPI with one
# line at 40 MHz.
cycle() {
    local layer=$1 full=$2 ram=$3 every=$4 bus=$5 label=$6 said
    [ -x "$build/$layer" ] || return 0
    if ! said=$(BUS=$bus "$build/$layer" uniform "$full" "$ram" 0.5 "$every" 2>&1); then
        printf '| %s %% | %s | %s ns | %s | | %s | | | | | |\n' "$full" "$every" "$bus" "$label" "${said#bench: }"
        return 0
    fi
    read -r erases programs loads mean worst micros bytes <<< "$said"
    printf '| %s %% | %s | %s ns | %s | %s | %s | %s | %s | %s ms | %s ms | %s µs |\n' "$full" "$every" "$bus" "$label" \
        "$(awk "BEGIN { printf \"%.1f KiB\", $bytes / 1024 }")" "$erases" "$programs" "$loads" "$mean" "$worst" "$micros"
}
echo
echo '| full | writes a power-up | bus, a byte | layer | RAM | erasures a write | programs a write | loads a mount | mount | worst mount | a write and its share of the sync |'
echo '|---|---|---|---|---|---|---|---|---|---|---|'
for full in 50 80 90; do
    for every in 1 8 64; do
        for bus in 20 200; do
            for ram in 16384 65536; do cycle thermocline "$full" "$ram" "$every" "$bus" thermocline; done
            for ratio in 45 254; do RATIO=$ratio cycle dhara "$full" 0 "$every" "$bus" "dhara, gc_ratio $ratio"; done
        done
    done
done

# Files on the layers.
[ -n "${FILES:-}" ] || exit 0
echo
echo '| work | files | RAM of the layer | programs a step | erasures of 1,000 steps | mean step | worst step | mount |'
echo '|---|---|---|---|---|---|---|---|'
files() {
    local work=$1 program=$2 full=$3 ram=$4 said label=$5
    [ -x "$FILES/$program" ] || return 0
    said=$("$FILES/$program" "$work" "$full" "$ram" 2>&1) || { echo "| $work | $label | ${said#bench: } | | | | | |"; return 0; }
    read -r programs erases mean worst mount bytes <<< "$said"
    printf '| %s | %s | %s | %s | %s | %s ms | %s ms | %s ms |\n' "$work" "$label" "$(awk "BEGIN { printf \"%.1f KiB\", $bytes / 1024 }")" \
        "$programs" "$erases" "$(awk "BEGIN { printf \"%.1f\", $mean / 1000 }")" "$worst" "$mount"
}
for work in log settings files; do
    for ram in 16384 65536; do files "$work" fat-thermocline 80 "$ram" 'FatFs on thermocline'; done
    for ratio in 45 254; do RATIO=$ratio files "$work" fat-dhara 80 0 "FatFs on dhara, gc_ratio $ratio"; done
    files "$work" littlefs-thermocline 80 16384 'littlefs on thermocline'
    RATIO=45 files "$work" littlefs-dhara 80 0 'littlefs on dhara, gc_ratio 45'
    files "$work" littlefs-chip 100 0 'littlefs on the chip'
done
