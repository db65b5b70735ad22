#!/usr/bin/env bash
# Kills the server (kill -9) in the middle of work, again and again, and looks whether all it had
# acknowledged is there afterwards.
#
#   systems/kill9.sh [-r ROUNDS] [-s SEED] [ext4] [disk]      both parts by default, 6 rounds each
#
#   1. under a mounted ext4: writer.py creates, replaces and deletes files, each fsynced, and overwrites
#      sectors of a big file; after each crash the image is checked as it is, the server started again,
#      e2fsck may replay the journal (exit code 0 or 1), and every acknowledged file has its contents;
#   2. on the bare disk: device.py over several connections, with trims, zeroes, FUA and shared flushes.
#
# The disk is full from the start, so that the server is killed while it cleans, too. In every second
# round it is killed once more while it starts.
#
# SPOIL=1 puts the image of before the work back after a crash, to see that the test then fails.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rounds=6 seed=$RANDOM
while getopts r:s:h option; do
    case $option in
    r) rounds=$OPTARG ;;
    s) seed=$OPTARG ;;
    *) die "usage: systems/kill9.sh [-r ROUNDS] [-s SEED] [ext4] [disk]" ;;
    esac
done

# nap FROM TO: a random time, in milliseconds.
nap() { sleep "$(awk -v n=$(($1 + (RANDOM * 32768 + RANDOM) % ($2 - $1 + 1))) 'BEGIN { print n / 1000 }')"; }

# remember IMAGE: before work begins.
remember() { [[ ! ${SPOIL:-} ]] || cp "$1" "$work/older"; }

# crash_after_work: while $child works on the disk.
crash_after_work() {
    nap 500 3500
    kill -0 "$child" 2>/dev/null || die "the writer ended before the server was killed"
    kill_server
}

# start_again ROUND IMAGE: the image as the crash left it must be sound, leaks apart.
start_again() {
    if [[ ${SPOIL:-} ]]; then cp "$work/older" "$2"; fi
    check_image "$2" 3
    if (($1 % 2 == 0)); then
        start_server_only "$2"
        nap 0 150
        kill_server
        check_image "$2" 3
    fi
    start_server "$2"
}

# wait_for_writer: it must have ended because the disk failed, for nothing else.
wait_for_writer() {
    gone "$child" 30 || die "the writer still waits for an answer 30 s after the server was killed"
    local status=0
    wait "$child" || status=$?
    child=''
    if ((status)); then
        tail -n 20 "$work/writer.log" >&2
        die "the writer met an error that no dying disk explains"
    fi
}

# repaired LOG: whether e2fsck did more than replay the journal, process what was being deleted, and bring the
# superblock's totals up to date (ext4 writes these at unmount only).
repaired() {
    awk '/\? yes/ && !/Optimize\? yes/ && before !~ /^Free (blocks|inodes) count wrong \(/ { found = 1 }
         NF { before = $0 }
         END { exit !found }' "$1"
}

on_ext4() {
    local image=$work/ext4.img log=$work/acknowledged round code done=0 last
    step "ext4: a disk that is full, and a file system on it"
    make_image "$image" 128MiB
    start_server "$image"
    fill_disk
    disk_up
    loop_up
    mkfs.ext4 -q -E nodiscard,lazy_itable_init=0 "$dev"
    for ((round = 1; round <= rounds; round++)); do
        mount_up ext4 noatime,discard
        remember "$image"
        "$python" "$here/writer.py" write "$mnt" "$log" $((seed + round)) 2>>"$work/writer.log" &
        child=$!
        crash_after_work
        wait_for_writer
        abandon

        start_again "$round" "$image"
        disk_up
        loop_up
        code=0
        e2fsck -fy "$dev" >"$work/fsck.log" 2>&1 || code=$?
        if ((code > 1)) || repaired "$work/fsck.log"; then
            cat "$work/fsck.log" >&2
            die "e2fsck had to repair; exit code $code"
        fi
        mount_up ext4 noatime
        last=$done
        done=$("$python" "$here/writer.py" verify "$mnt" "$log")
        ((done > last)) || die "nothing was acknowledged in round $round: this round shows nothing"
        step "ext4: round $round: $((done - last)) changes acknowledged and found; e2fsck $code"
        mount_down
    done
    loop_down
    disk_down
    stop_server
    check_image "$image"
    rm "$image"
}

fill_disk() {
    head -c "$(size_of_disk)" /dev/urandom >"$work/random"
    nbdcopy "$work/random" "$uri"
    rm "$work/random"
}

on_the_disk() {
    local image=$work/disk.img state=$work/promises round counts
    step "disk: connections that write, trim, zero and flush at once"
    make_image "$image" 64MiB
    start_server "$image"
    "$python" "$here/device.py" fill "$uri" "$state"
    for ((round = 1; round <= rounds; round++)); do
        remember "$image"
        "$python" "$here/device.py" write "$uri" "$state" $((seed + round)) 2>>"$work/writer.log" &
        child=$!
        crash_after_work
        wait_for_writer
        start_again "$round" "$image"
        counts=$("$python" "$here/device.py" verify "$uri" "$state")
        [[ $counts == *flush*write* ]] || die "nothing was acknowledged: this shows nothing"
        step "disk: round $round: every sector holds what it may, after $counts"
    done
    stop_server
    check_image "$image"
    rm "$image"
}

shift $((OPTIND - 1))
(($#)) || set -- ext4 disk
RANDOM=$seed
skip_unless nbdinfo python-nbd
if [[ " $* " == *" ext4 "* ]]; then
    skip_unless root fuse loop ext4.fs mkfs.ext4 e2fsck nbdfuse fusermount3 nbdcopy
fi
start_work $((60 + rounds * 30))
say "seed $seed"
for part in "$@"; do
    case $part in
    ext4) on_ext4 ;;
    disk) on_the_disk ;;
    *) die "the parts are ext4 and disk, not '$part'" ;;
    esac
done
finished
