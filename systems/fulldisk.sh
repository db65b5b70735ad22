#!/usr/bin/env bash
# A disk below the image that finds no room, without any injection: ext4 on a loop device whose file lies on a small
# file system that another file fills. A sync of the image fails, and the kernel takes for clean what it
# could not write. Room is made, the server is started again and flushes, its hosts write on, and the system's
# cache is dropped, as a restart of the machine does. Each page must then be what the server showed: of one of
# its two versions, and none an error.
#
# In the part `same` no server is started again: the one that was told ENOSPC goes on once there is room.
#
#   systems/fulldisk.sh [LAYER|same]...       page-mapped, nftl, demand-paged and same by default
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# write_without_room LAYER: pages of version 1 that are flushed, and of version 2 that are not, in $image on a disk
# without room.
write_without_room() {
    local code=0
    image=$work/mnt/disk.img
    mkdir -p "$work/small"
    mount -t tmpfs -o size=90m none "$work/small"
    below=$work/small
    truncate -s 128M "$below/disk"
    mkfs.ext4 -q -m 0 -J size=4,location=20M -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$below/disk"
    # Metadata and the journal have room, for mkfs leaves holes: a journal that finds none ends, and ext4 takes no more writes.
    dd if="$below/disk" of="$below/disk" bs=1M count=24 conv=notrunc status=none
    dev=$(losetup --find --show "$below/disk")
    mount -t ext4 -o errors=continue "$dev" "$work/mnt"
    mnt=$work/mnt
    "$THERMOCLINE" format "$image" --layer "$1" --capacity 32MiB --block-size 64KiB --preallocate >/dev/null
    sync -f "$image"
    start_server "$image"
    pages=$(($(size_of_disk) / 4096 / 3))
    client write 1
    sync -f "$image"
    # Until there is no more room; dd says so.
    dd if=/dev/zero of="$below/filler" bs=4k 2>/dev/null || true
    client write 2 2>/dev/null || code=$?
    ((code == 5 || code == 28)) || die "a flush without room below ended with $code, not with EIO or ENOSPC"
}

# What a restart of the machine does to the image's cache.
drop_cache() {
    "$python" -c 'import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(file)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)' "$image"
}

away_with_it() {
    mount_down
    loop_down
    umount "$below"
    below=''
}

client() { "$python" "$here/fulldisk.py" "$1" "$uri" "$pages" "${@:2}"; }

test_layer() {
    step "$1: a sync that fails"
    write_without_room "$1"
    kill_server

    step "$1: room is made, and the server goes on"
    rm "$below/filler"
    start_server "$image"
    client read >"$work/shown"
    grep -qx 1 "$work/shown" || die "the disk had room for all: this shows nothing"
    client churn
    kill_server
    drop_cache
    check_image "$image" 3
    start_server "$image"
    client read >"$work/found"
    cmp "$work/shown" "$work/found" || die "flushed pages are not what the server had shown"
    stop_server
    sort "$work/found" | uniq -c | tr '\n' ';' >&2
    echo >&2

    if [[ $1 == page-mapped ]]; then
        step "another program keeps the image in the cache"
        "$python" -c 'import mmap, sys, time
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as window:
    sum(window[::4096])
    open(sys.argv[2], "w")
    time.sleep(600)' "$image" "$work/mapped" &
        child=$!
        until [[ -e $work/mapped ]]; do sleep 0.02; done
        start_server "$image"
        grep -q 'is read and written past the cache' "$work/server.log" || die "the log does not say so"
        client read | cmp - "$work/found"
        stop_server
        kill "$child"
        wait "$child" 2>/dev/null || true
        child=''
    fi
    away_with_it
}

test_same_server() {
    local code=0
    step "the same server: a sync that finds no room"
    write_without_room page-mapped
    rm "$below/filler"
    step "the same server: room is made, and it goes on"
    pages=1 client write 2 || code=$?
    ((code == 0)) || die "a flush ended with $code, though there is room"
    client read >"$work/shown"
    kill_server
    drop_cache
    start_server "$image"
    client read >"$work/found"
    cmp "$work/shown" "$work/found" || die "flushed pages are not what the server had shown"
    stop_server
    away_with_it
}

(($#)) || set -- page-mapped nftl demand-paged same
skip_unless root loop ext4.fs mkfs.ext4 nbdinfo python-nbd
[[ $SERVER == thermocline ]] || skip "only promised by thermocline"
start_work 60
for part in "$@"; do
    if [[ $part == same ]]; then test_same_server; else test_layer "$part"; fi
done
finished
