# Our server on raw NAND with bad blocks: a file system on it, the server killed under it and started again.
# Once more on a chip that flips bits, and whose blocks fail as they wear; and once with NFTL.
# modules: nandsim nbd crc32c_generic ext4
# programs: nbd-client(nbd-client) mkfs.ext4(e2fsprogs) e2fsck(e2fsprogs)
# built: thermocline

for module in nbd crc32c_generic ext4; do modprobe $module; done
rmmod nandsim 2> /dev/null || true
chip=mtd:/dev/mtd0
pass=0 rounds=4 layer=
trap 'code=$?; [ $code = 0 ] || tail -n 20 /tmp/server; exit $code' EXIT

check() { thermocline check $chip > /tmp/out 2>&1 || { cat /tmp/server /tmp/out; fail "not sound $*"; }; }
bad_blocks() { thermocline stat $chip --json | sed -n 's/^ *"bad_blocks": \([0-9]*\),*$/\1/p'; }
# In four rounds more than the chip holds, so that it has to clean; what was synced last is of $pass.
churn() {
    for _ in $(seq $rounds); do
        pass=$((pass + 1))
        dd if=/dev/urandom of=/tmp/random.$pass bs=64k count=25 2> /dev/null
        for part in $(seq 6); do dd if=/tmp/random.$pass of="/mnt/random.$part" bs=1M conv=fsync 2> /dev/null; done
        rm -f /tmp/random.$((pass - 1))
    done
}
verify() {
    fingerprints /mnt/mtd > /tmp/seen
    cmp /tmp/expected /tmp/seen || fail "files differ"
    for part in $(seq 6); do
        cmp /tmp/random.$pass "/mnt/random.$part" || fail "what was synced last differs"
    done
}

# session PARAMETERS…: of the simulated chip.
session() {
    rm -f /tmp/server
    dmesg -c > /dev/null
    # 32 MiB: 2^8 blocks of 64 pages of 2048 + 64 bytes.
    modprobe nandsim id_bytes=0xec,0xa1,0x00,0x15 overridesize=8 badblocks=5,17 "$@"
    # shellcheck disable=SC2086 # no layer is no argument
    thermocline format $chip $layer > /tmp/out 2>&1 || { cat /tmp/out; fail "format"; }
    if thermocline format $chip > /tmp/out 2>&1; then fail "what is formatted was formatted again"; fi

    start_server $chip
    if thermocline check $chip > /tmp/out 2>&1; then fail "a chip in use was opened twice"; fi
    mkfs.ext4 -q -F /dev/nbd0
    mount -t ext4 -o discard /dev/nbd0 /mnt
    cp -r /lib/modules/*/kernel/drivers/mtd /mnt/
    sync
    fingerprints /mnt/mtd > /tmp/expected
    churn
    # Nothing is synced of this.
    dd if=/dev/zero of=/mnt/unsynced bs=64k count=50 2> /dev/null
    kill -9 $server
    wait $server 2> /dev/null || true
    umount /mnt 2> /dev/null || umount -l /mnt
    nbd-client -d /dev/nbd0 > /dev/null 2>&1 || true
    check "after kill -9"

    start_server $chip
    code=0
    e2fsck -fy /dev/nbd0 > /tmp/out 2>&1 || code=$?
    [ $code -le 1 ] || { cat /tmp/out; fail "e2fsck: $code"; }
    mount -t ext4 -o discard /dev/nbd0 /mnt
    verify
    churn
    umount /mnt
    stop_server
    check "after it was stopped"

    start_server $chip
    e2fsck -fn /dev/nbd0 > /tmp/out 2>&1 || { cat /tmp/out; fail "e2fsck after it was stopped"; }
    mount -t ext4 -o ro /dev/nbd0 /mnt
    verify
    umount /mnt
    stop_server
    bad=$(bad_blocks)
    # What the simulator says it let fail, by erase block.
    failed=$(dmesg | sed -n 's/.*simulating erase failure in erase block \([0-9]*\).*/\1/p; s/.*simulating write failure in page \([0-9]*\).*/\1 64/p' \
        | awk '{print NF == 2 ? int($1 / $2) : $1}' | sort -u | wc -l)
    [ "$bad" = $((2 + failed)) ] || fail "$bad bad blocks; 2 were bad and $failed failed"
    echo "$(wc -l < /tmp/seen) files and 9 MiB that were synced are there after kill -9 and after a stop; $bad bad blocks, $failed of them failed"
    rmmod nandsim
}

session
# These blocks can be erased so many times, these pages programmed, and every thousandth read has a wrong bit.
# Page 8000 is the first one of its block, so that the block cannot be marked either.
session bitflips=1 weakblocks=7:0,40:1,99:0 weakpages=1300:0,8000:0
[ "$failed" -ge 2 ] || fail "only $failed blocks failed"
layer='--layer nftl' rounds=1
session
