#!/usr/bin/env bash
# Records the trace corpus: real programs on real file systems on a disk that is our own server with chips
# in memory, or nbdkit's memory plugin behind its log filter. Addresses only, never data.
#
#   corpus/record.sh [-o DIR] [-s SERVER] NAME...|all
#
# NAME: sqlite-ext4 developer-ext4 developer-btrfs camera-fat32. SERVER: thermocline (default) writes
# DIR/NAME.tct, the native format (the binary is THERMOCLINE, or that of `make build`); nbdkit writes
# DIR/NAME.nbdkit.log.zst, one request one line. DIR: this directory. Needs root (loop devices, mounts) and, for the
# developer recordings, cargo and apt with their registries: sources are fetched before recording starts.
#
#   program ── file system ── loop (direct I/O) ── nbdfuse ──┬── thermocline serve --record ── memory
#                                                            └── nbdkit [log filter] ── memory
#
# The disk starts blank; mkfs is part of the recording, and so is the unmount at the end.
set -euo pipefail
export LC_ALL=C TZ=UTC

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
all=(sqlite-ext4 developer-ext4 developer-btrfs camera-fat32)
out=$here
server=thermocline
THERMOCLINE=${THERMOCLINE:-${CARGO_TARGET_DIR:-$here/../target}/release/thermocline}

die() { printf 'record.sh: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

# ---------------------------------------------------------------------------------------------- checks

# need COMMAND PACKAGE: remembers the Debian package of a missing command.
missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }

check_machine() {
    case $server in
    nbdkit) need nbdkit nbdkit; need zstd zstd ;;
    thermocline) [[ -x $THERMOCLINE ]] || die "no $THERMOCLINE; run make build first" ;;
    esac
    need nbdfuse libnbd-bin
    need fusermount3 fuse3
    need python3 python3
    need losetup mount
    need fstrim util-linux
    local name
    for name in "$@"; do
        case $name in
        *-ext4) need mkfs.ext4 e2fsprogs ;;
        *-btrfs) need mkfs.btrfs btrfs-progs ;;
        *-fat32) need mkfs.fat dosfstools; need mcopy mtools ;;
        esac
        case $name in
        developer-*) need gcc gcc; need make make; need git git; need dpkg dpkg; need cargo cargo ;;
        esac
    done
    if ((${#missing[@]})); then
        die "missing programs; apt-get install --no-install-recommends $(printf '%s\n' "${missing[@]}" | sort -u | xargs)"
    fi
    ((EUID == 0)) || die "needs root: it attaches loop devices and mounts file systems"
    [[ -c /dev/fuse ]] || die "needs /dev/fuse"
}

# ---------------------------------------------------------------------------- the disk, up and down again

tmp='' mnt='' dev='' fuse='' nbdfuse_pid='' server_pid='' bytes='' child='' sources=''

# workload COMMAND...: runs it so that a signal to this script is acted on at once.
workload() {
    "$@" &
    child=$!
    wait "$child"
    child=''
}

# Every step is undone in reverse order; the names are cleared, so it may run twice.
take_down() {
    if [[ $child ]]; then
        kill "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
        child=''
    fi
    if [[ $mnt ]]; then umount "$mnt" || umount -l "$mnt" || true; mnt=''; fi
    if [[ $dev ]]; then losetup -d "$dev" || true; dev=''; fi
    if [[ $fuse ]]; then fusermount3 -u "$fuse" || fusermount3 -uz "$fuse" || true; fuse=''; fi
    if [[ $server_pid ]]; then
        kill "$server_pid" 2>/dev/null || true
        while kill -0 "$server_pid" 2>/dev/null; do sleep 0.05; done
        server_pid=''
    fi
    if [[ $tmp ]]; then rm -rf --one-file-system "$tmp"; tmp=''; fi
}
cleanup() {
    take_down
    if [[ $sources ]]; then rm -rf "$sources"; sources=''; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start_server: nbdkit has exactly as many bytes as the disk; our chips have spare ones, bad blocks and a log
# besides, and the disk is the first part of what they export.
start_server() {
    local command i size=''
    case $server in
    nbdkit) command=(nbdkit --foreground --filter=log memory "$bytes" logfile="$tmp/log") ;;
    thermocline)
        command=("$THERMOCLINE" serve ram: --device slc-generic --capacity $((bytes * 3 / 2 >> 20))MiB --record "$tmp/log")
        ;;
    esac
    "${command[@]}" --unix "$tmp/socket" --pidfile "$tmp/pid" 2>"$tmp/errors" &
    server_pid=$!
    # nbdkit's file is there once it answers; that nobody else connects keeps its log as it was.
    for ((i = 0; i < 100; i++)); do
        case $server in
        nbdkit) [[ ! -s $tmp/pid ]] || return 0 ;;
        thermocline) if size=$(nbdinfo --size "nbd+unix:///?socket=$tmp/socket" 2>/dev/null); then break; fi ;;
        esac
        sleep 0.1
    done
    if [[ ! $size ]]; then
        cat "$tmp/errors" >&2
        die "$server did not come up"
    fi
    ((size >= bytes)) || die "$server exports $size bytes; the recording needs $bytes"
}

# start_disk MIB: leaves the disk as the file $tmp/fuse/disk (its first $bytes) and the recording in $tmp/log.
start_disk() {
    tmp=$(mktemp -d)
    mkdir "$tmp/fuse" "$tmp/mnt"
    bytes=$(($1 << 20))
    start_server
    nbdfuse "$tmp/fuse/disk" --unix "$tmp/socket" &
    nbdfuse_pid=$!
    fuse=$tmp/fuse
    local i
    for ((i = 0; i < 100; i++)); do
        [[ -f $tmp/fuse/disk ]] && return
        sleep 0.1
    done
    die "nbdfuse did not come up"
}

# mount_disk TYPE OPTIONS MKFS...: attaches the loop device, makes the file system and mounts it.
mount_disk() {
    local type=$1 options=$2
    shift 2
    dev=$(losetup --find --show --direct-io=on --sizelimit "$bytes" "$tmp/fuse/disk")
    "$@" "$dev"
    mount -t "$type" -o "$options" "$dev" "$tmp/mnt"
    mnt=$tmp/mnt
}

# pack_nbdkit NAME: keeps connection and request lines verbatim, drops the rest (start-up lines and the
# completions "...Write id=7 return=0", all of which must be successes). Requests in flight together
# reach the log up to a millisecond out of order, so the lines are put in the order of their time.
pack_nbdkit() {
    local log=$tmp/log
    if grep -q 'return=-1' "$log"; then
        grep 'return=-1' "$log" | head -3 >&2
        die "$1: the disk refused a request"
    fi
    grep -E ' connection=[0-9]+ (Connect|Read|Write|Trim|Zero|Flush|Cache) ' "$log" | sort -s -k1,2 >"$tmp/kept"
    zstd -q -19 --ultra -f "$tmp/kept" -o "$tmp/packed"
    mv "$tmp/packed" "$out/$1.nbdkit.log.zst"
    printf '%s: %s lines, %s bytes packed\n' "$1" "$(wc -l <"$tmp/kept")" "$(stat -c %s "$out/$1.nbdkit.log.zst")" >&2
}

# pack_native NAME: the file is packed and checked already. Its end is written when the server stops.
pack_native() {
    "$THERMOCLINE" trace info "$tmp/log" >&2
    mv "$tmp/log" "$out/$1.tct"
    printf '%s: %s bytes\n' "$1" "$(stat -c %s "$out/$1.tct")" >&2
}

# Unmounts and detaches, so that the last writes are in the recording; ends it, then packs.
finish() {
    if [[ $mnt ]]; then umount "$mnt"; mnt=''; fi
    if [[ $dev ]]; then losetup -d "$dev"; dev=''; fi
    fusermount3 -u "$fuse"
    fuse=''
    wait "$nbdfuse_pid"
    local status=0
    kill "$server_pid"
    wait "$server_pid" || status=$?
    server_pid=''
    if ((status)); then
        cat "$tmp/errors" >&2
        die "$1: $server ended with exit code $status"
    fi
    case $server in
    nbdkit) pack_nbdkit "$1" ;;
    thermocline) pack_native "$1" ;;
    esac
    take_down
}

# --------------------------------------------------------------------------------------- the recordings

record_sqlite_ext4() {
    start_disk 128
    mount_disk ext4 discard,noatime mkfs.ext4 -q -b 4096 -J size=4
    workload python3 "$here/workloads/sqlite.py" "$mnt"
    fstrim "$mnt"
    finish sqlite-ext4
}

record_developer() {
    local name=$1
    if [[ ! $sources ]]; then
        sources=$(mktemp -d)
        "$here/workloads/developer.sh" fetch "$sources"
    fi
    start_disk 384
    case $name in
    developer-ext4) mount_disk ext4 discard,relatime mkfs.ext4 -q -b 4096 ;;
    developer-btrfs) mount_disk btrfs discard=async,relatime mkfs.btrfs -q ;;
    esac
    workload "$here/workloads/developer.sh" run "$sources" "$mnt"
    fstrim "$mnt"
    finish "$name"
}

record_camera_fat32() {
    start_disk 512
    workload "$here/workloads/camera.sh" "$tmp/fuse/disk" "$bytes"
    finish camera-fat32
}

# ------------------------------------------------------------------------------------------------- main

while getopts o:s:h option; do
    case $option in
    s) server=$OPTARG ;;
    o) out=$(cd "$OPTARG" && pwd) ;;
    h) usage; exit ;;
    *) usage >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
(($#)) || { usage >&2; exit 2; }
[[ $server == nbdkit || $server == thermocline ]] || die "a server is nbdkit or thermocline, not '$server'"
names=("$@")
[[ ${names[*]} == all ]] && names=("${all[@]}")
for name in "${names[@]}"; do
    [[ " ${all[*]} " == *" $name "* ]] || die "no recording is called '$name'; there are: ${all[*]}"
done
check_machine "${names[@]}"
for name in "${names[@]}"; do
    case $name in
    sqlite-ext4) record_sqlite_ext4 ;;
    developer-*) record_developer "$name" ;;
    camera-fat32) record_camera_fat32 ;;
    esac
done
