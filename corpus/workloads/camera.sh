#!/usr/bin/env bash
# A camera and its card: shoot until it is full, delete, shoot again, reformat, and so on.
#
#   camera.sh DISK [BYTES]      DISK is the card: a file or device, or the first BYTES of it
#
# FAT32 is written by mkfs.fat and mtools, each shot by its own mcopy and a sync, as a camera does. Freed
# clusters are trimmed by fattrim.py where a user puts the card into a computer; deletes and the reformat in the
# camera trim nothing. Sizes and choices are seeded. Pictures are all zeros: only addresses are recorded.
set -euo pipefail
export MTOOLS_SKIP_CHECK=1 MTOOLSRC=/dev/null MTOOLS_NO_VFAT=0

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
disk=$1
bytes=${2:-$(stat -Lc %s "$disk")}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
RANDOM=20260101

mib=$((1 << 20))
capacity=$((bytes - 6 * mib)) # what the file system leaves for files, with a little air
folder=::/DCIM/100CAMRA
declare -A size=() # bytes on the card, by name
used=0
number=0
began=$SECONDS

say() { printf '%5d s  %s: %d files, %d MiB used\n' $((SECONDS - began)) "$1" "${#size[@]}" $((used / mib)) >&2; }
pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; } # milliseconds
# between LOW HIGH: a number, in $drawn. (A command substitution would reseed RANDOM: never the same card twice.)
between() { drawn=$(($1 + (RANDOM * 32768 + RANDOM) % ($2 - $1))); }

format() {
    mkfs.fat -F 32 -S 512 -s 8 -n CAMERA -i 20260101 "$disk" $((bytes / 1024)) >/dev/null
    mmd -i "$disk" ::/DCIM ::/DCIM/100CAMRA ::/MISC
    size=()
    used=0
    sync "$disk"
}

# store NAME BYTES
store() {
    truncate -s "$2" "$scratch/file"
    mcopy -o -i "$disk" "$scratch/file" "$folder/$1"
    rm "$scratch/file"
    size[$1]=$2
    used=$((used + ($2 + 4095) / 4096 * 4096))
}

# catalogue: the index the camera keeps; 64 bytes a picture, rewritten in place after each shot.
catalogue() {
    truncate -s $((4096 + 64 * ${#size[@]})) "$scratch/catalogue"
    mcopy -o -i "$disk" "$scratch/catalogue" ::/MISC/CATALOG.DAT
}

delete() {
    mdel -i "$disk" "${@/#/$folder/}"
    local name
    for name in "$@"; do
        used=$((used - (size[$name] + 4095) / 4096 * 4096))
        unset "size[$name]"
    done
}

# shoot BYTES: pictures in bursts, a video now and then, a bad picture deleted at once, until BYTES are used.
shoot() {
    local bytes name burst last=''
    while :; do
        for ((burst = RANDOM % 5 + 1; burst > 0; burst--)); do
            ((++number))
            if ((RANDOM % 40 == 0)); then
                between $((16 * mib)) $((48 * mib))
                name=$(printf 'MVI_%04d.MOV' "$number")
            else
                between $((2 * mib)) $((6 * mib))
                name=$(printf 'IMG_%04d.JPG' "$number")
            fi
            bytes=$drawn
            ((used + bytes <= $1)) || return 0
            store "$name" "$bytes"
            if [[ $name == *.MOV ]]; then
                between 6000 20000
                store "${name%.MOV}.THM" "$drawn"
            fi
            catalogue
            sync "$disk"
            last=$name
            pause 30
        done
        between 100 500
        pause "$drawn"
        if ((RANDOM % 3 == 0)); then
            delete "$last"
            catalogue
            sync "$disk"
            pause 200
        fi
    done
}

# thin PERCENT: deletes that share of the files one by one, as someone does who looks through them.
thin() {
    local name names
    mapfile -t names < <(printf '%s\n' "${!size[@]}" | LC_ALL=C sort)
    for name in "${names[@]}"; do
        ((RANDOM % 100 < $1)) || continue
        delete "$name"
        ((RANDOM % 4)) || pause 100
    done
    sync "$disk"
    pause 1500
}

# empty: everything was copied home; the files are deleted there, with the card in a computer.
empty() {
    delete "${!size[@]}"
    sync "$disk"
    pause 1500
}

trim() {
    python3 "$here/fattrim.py" "$disk"
    sync "$disk"
    pause 500
}

format
shoot "$capacity"
say "first card full"
thin 50
shoot "$capacity"
say "half deleted in the camera, full again"
thin 30
trim
shoot "$capacity"
say "a third deleted and trimmed, full again"
format
shoot "$capacity"
say "reformatted in the camera, full again"
empty
trim
shoot "$((capacity / 2))"
thin 40
shoot "$capacity"
say "emptied and trimmed, half full, thinned, full again"
