#!/usr/bin/env bash
# Shows that the tests of this folder can fail: damages what they test, and demands that each notices, for
# the right reason, and leaves nothing behind. Two minutes.
#
#   systems/can-fail.sh
#
# With SERVER=nbdkit also by servers that lie: one that loses what a flush covered, one that makes errors,
# one that knows no holes, and so on.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
skip_unless root fuse loop mkfs.ext4 nbdfuse nbdkit fio python-nbd
export SERVER

missed=0

# notices REASON SCRIPT ARGUMENT...: it must fail, and say something that matches REASON.
notices() {
    local reason=$1 output status=0
    shift
    step "$*${SPOIL:+, a damaged image}${LIMIT:+, $LIMIT s}${NBDKIT:+, nbdkit with $NBDKIT}"
    output=$("$here/$1" "${@:2}" 2>&1) || status=$?
    if ((status != 1)) || ! grep -qE "$reason" <<<"$output"; then
        missed=$((missed + 1))
        say "exit code $status, and no '$reason' in:"
        tail -n 15 <<<"$output" >&2
    fi
    if grep -q "thermocline-systems" /proc/mounts || losetup --list --noheadings | grep -q "thermocline-systems"; then
        die "it left a mount or a loop device behind"
    fi
}

# What the reason is depends on who notices first: our `check`, or the test.
SPOIL=1 notices 'contents changed|check ended with exit code 2' filesystems.sh ext4
SPOIL=1 notices 'contents changed|check ended with exit code 2' filesystems.sh xfs
SPOIL=1 notices 'superblock|contents changed|Input/output error|check ended with exit code 2' filesystems.sh btrfs
SPOIL=1 notices 'contents changed|check ended with exit code 2' filesystems.sh fat32
SPOIL=1 notices 'e2fsck had to repair|are not there' kill9.sh -r 1 ext4
SPOIL=1 notices 'hold what they must not' kill9.sh -r 1 disk
LIMIT=4 notices 'stuck' kill9.sh -r 6 ext4
if [[ $SERVER == nbdkit ]]; then
    # A cache that is lost with the server, and answers flushes at once.
    NBDKIT='cache cache=unsafe' notices 'e2fsck had to repair|are not there|superblock' kill9.sh -r 2 ext4
    NBDKIT='error error-pread-rate=25%' notices 'Input/output error|injecting EIO' filesystems.sh fat32
    NBDKIT='error error-pread-rate=2%' notices 'Input/output error|EIO' clients.sh nbdcopy fio
    NBDKIT='noextents' notices 'hole,zero' clients.sh nbdinfo
    NBDKIT='noextents' notices 'block_status' clients.sh libnbd
    NBDKIT='nozero' notices 'cannot zero' clients.sh nbdinfo
    NBDKIT='multi-conn multi-conn-mode=disable' notices 'connections_see_each_other' clients.sh libnbd
    NBDKIT='blocksize-policy blocksize-minimum=4096 blocksize-preferred=4096 blocksize-maximum=32M blocksize-error-policy=error' \
        notices 'structured_replies|block_sizes' clients.sh libnbd
fi
step "that was all"
((missed == 0)) || die "$missed faults were not noticed"
finished
