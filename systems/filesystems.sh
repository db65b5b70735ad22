#!/usr/bin/env bash
# Real file systems on the server's disk: ext4, xfs and btrfs mounted, FAT32 by mtools.
#
#   systems/filesystems.sh [ext4|xfs|btrfs|fat32]...          all of them by default
#
# Each on an image of its own: make it, fill it with files, delete half, trim, fill it again (which makes
# the translation layer clean), unmount, let the file system's own checker judge; stop the server, check
# the image, start again, and compare every file with what was written.
#
#   files ── file system ── loop (direct I/O) ── nbdfuse ── server ── image
#
# SPOIL=1 damages the image between stop and start, to see that the test then fails.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CAPACITY=512MiB # xfs wants 300 MB at least, FAT32 65 525 clusters of 4 KiB

files() { "$python" "$here/files.py" "$@"; }
mib() { echo $((${1} * 1024 * 1024)); }

# allocated: the bytes of the disk that hold data, by the server's own account.
allocated() { nbdinfo --map --totals "$uri" | awk '$3 == 0 { bytes += $1 } END { printf "%d\n", bytes }'; }

# restart IMAGE: stop, check, start.
restart() {
    step "$name: stop the server, check the image, start again"
    stop_server
    check_image "$1"
    if [[ ${SPOIL:-} ]]; then files spoil "$1"; fi
    start_server "$1"
}

# trimmed BEFORE: the trim must have reached the chip; a hundred of the deleted mebibytes at least.
trimmed() {
    local now
    now=$(allocated)
    (($1 - now >= $(mib 80))) ||
        die "after half of the files were deleted and trimmed the disk still holds $now of $1 bytes"
}

# on_kernel NAME MKFS... : a file system that this kernel mounts.
on_kernel() {
    local name=$1 image=$work/$1.img manifest=$work/$1.manifest before
    shift
    step "$name: make"
    make_image "$image" $CAPACITY
    start_server "$image"
    disk_up
    loop_up
    "$@" "$dev" >/dev/null
    mount_up "$name" noatime

    step "$name: fill, delete half, trim, fill again"
    files fill "$mnt" "$manifest" "$(mib 240)" 1
    sync -f "$mnt"
    before=$(allocated)
    files thin "$mnt" "$manifest" 2
    sync -f "$mnt"
    fstrim "$mnt"
    trimmed "$before"
    files fill "$mnt" "$manifest" "$(mib 100)" 3
    files verify "$mnt" "$manifest"
    mount_down

    step "$name: the file system's own check"
    fsck_of "$name"
    loop_down
    disk_down

    restart "$image"
    disk_up
    loop_up
    mount_up "$name" noatime
    step "$name: compare every file"
    files verify "$mnt" "$manifest"
    mount_down
    fsck_of "$name"
    loop_down
    disk_down
    stop_server
    check_image "$image"
    rm "$image"
}

fsck_of() {
    local log=$work/fsck.log
    case $1 in
    ext4) e2fsck -fn "$dev" ;;
    xfs) xfs_repair -n "$dev" ;;
    btrfs) btrfs check --check-data-csum "$dev" ;;
    esac >"$log" 2>&1 || {
        cat "$log" >&2
        die "$1 is not sound"
    }
}

# FAT32: the kernel may lack it, mtools do not need it. They trim nothing.
on_mtools() {
    local name=fat32 image=$work/fat32.img manifest=$work/fat32.manifest tree=$work/tree folder
    export MTOOLS_SKIP_CHECK=1 MTOOLSRC=/dev/null
    step "$name: make"
    make_image "$image" $CAPACITY
    start_server "$image"
    disk_up
    mkfs.fat -F 32 -S 512 -s 8 "$disk" >/dev/null

    step "$name: copy files, delete some and some folders, copy more"
    mkdir "$tree"
    files fill "$tree" "$manifest" "$(mib 120)" 1
    mmd -i "$disk" ::/card
    mcopy -s -Q -i "$disk" "$tree/round-1" ::/card </dev/null
    mmd -i "$disk" ::/card/empty
    for folder in 1 4 7 10; do
        mdeltree -i "$disk" "::/card/round-1/folder-$folder"
        rm -r "$tree/round-1/folder-$folder"
    done
    for folder in 2 5 8; do
        mdel -i "$disk" "::/card/round-1/folder-$folder/*"
        rm -r "$tree/round-1/folder-$folder"
    done
    grep -vE '/folder-(1|4|7|10|2|5|8)/' "$manifest" >"$work/kept"
    mv "$work/kept" "$manifest"
    files fill "$tree" "$manifest" "$(mib 60)" 2
    mcopy -s -Q -i "$disk" "$tree/round-2" ::/card </dev/null
    sync "$disk"
    fsck_of_fat

    disk_down
    restart "$image"
    disk_up
    step "$name: compare every file"
    fsck_of_fat
    mkdir "$work/back"
    mcopy -s -Q -n -i "$disk" "::/card/round-*" "$work/back" </dev/null
    files verify "$work/back" "$manifest"
    disk_down
    stop_server
    check_image "$image"
    rm -r "$image" "$tree" "$work/back"
}

fsck_of_fat() {
    fsck.fat -n "$disk" >"$work/fsck.log" 2>&1 || {
        cat "$work/fsck.log" >&2
        die "fat32 is not sound"
    }
}

# possible NAME: whether this machine can; says what is missing. (In a subshell, for skip_unless exits.)
possible() {
    case $1 in
    fat32) (skip_unless mkfs.fat fsck.fat mcopy mdeltree) ;;
    *) (skip_unless root loop "$1.fs" "mkfs.$1") ;;
    esac
}

(($#)) || set -- ext4 xfs btrfs fat32
names=()
for name in "$@"; do
    [[ " ext4 xfs btrfs fat32 " == *" $name "* ]] || die "the file systems are ext4, xfs, btrfs and fat32, not '$name'"
    if possible "$name"; then names+=("$name"); else say "leaves out $name"; fi
done
((${#names[@]})) || skip "no file system can be tested here"
skip_unless fuse nbdfuse fusermount3 nbdinfo
start_work 200
for name in "${names[@]}"; do
    case $name in
    ext4) on_kernel ext4 mkfs.ext4 -q ;;
    xfs) on_kernel xfs mkfs.xfs -q ;;
    btrfs) on_kernel btrfs mkfs.btrfs -q ;;
    fat32) on_mtools ;;
    esac
done
finished
