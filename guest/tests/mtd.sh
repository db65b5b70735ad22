# `media::Mtd` on the kernel's MTD driver, with its NAND simulator below.
# modules: nandsim mtdram ubi mtdblock jffs2 bch
# programs: ubiattach(mtd-utils) ubidetach(mtd-utils)
# built: mtd_device

# 128 MiB: 1024 blocks of 64 pages of 2048 + 64 bytes.
nand="id_bytes=0xec,0xa1,0x00,0x15"

# simulate PARAMETERS…: a fresh chip as /dev/mtd0.
simulate() {
    # shellcheck disable=SC2086
    modprobe nandsim "$@" || fail "no nandsim with $*"
    [ -c /dev/mtd0 ] || fail "no /dev/mtd0"
}
forget() { rmmod nandsim; }
# run TESTS…: the tests with these in their names; at least one each.
run() {
    for name in "$@"; do
        mtd_device --test-threads=1 --nocapture "$name" > /tmp/out 2>&1 || { cat /tmp/out; fail "$name"; }
        grep -q 'test result: ok. 0 passed' /tmp/out && fail "no test $name"
        grep -E '^test .*ok$|Health' /tmp/out || true
    done
}
# refused WORDS: the device will not do.
refused() {
    REFUSAL=$1 mtd_device --nocapture will_not_do > /tmp/out 2>&1 || { cat /tmp/out; fail "not refused: $1"; }
    grep '^/' /tmp/out
}

simulate $nand badblocks=5,17
contract="has_the_shape reads_as_it_was_programmed programmed_once_and_in_order in_memory_would_say cut_off_or_spoilt for_itself"
for way in whole parts; do
    [ $way = whole ] || export MTD_PARTS=1
    echo "pages read $way:"
    run $contract
done
unset MTD_PARTS
run marked_bad
forget

simulate $nand badblocks=5,17 weakblocks=7:2 weakpages=130:1,704:1
run that_fail_say_so
forget

simulate $nand bitflips=1
run single_bits
MTD_PARTS=1 run single_bits
forget
simulate $nand bitflips=200
run too_many_wrong_bits
MTD_PARTS=1 run too_many_wrong_bits
forget
# A correction of 4 bits in 512 bytes, which leaves 34 free bytes.
simulate $nand badblocks=5,17 bch=4
run has_the_shape reads_as_it_was_programmed in_memory_would_say cut_off_or_spoilt
MTD_PARTS=1 run reads_as_it_was_programmed
forget

echo "refusals:"
# Pages of 512 + 16 bytes.
simulate id_bytes=0xec,0x75
refused "free out-of-band bytes beside a page; a record takes 32"
forget
modprobe mtdram total_size=1024 erase_size=64
refused "is memory and not SLC NAND"
rmmod mtdram
MTD=/dev/null refused "is not an MTD character device; name one, such as /dev/mtd0"
MTD=/tmp/out refused "is not an MTD character device"
MTD=/dev/mtd7 refused "No such file or directory"
simulate $nand
MTD=/dev/mtd0ro refused "is write-protected; it can be opened read-only"
su -s /bin/sh nobody -c "REFUSAL='no permission; MTD devices are root' mtd_device --nocapture will_not_do" > /tmp/out 2>&1 \
    || { cat /tmp/out; fail "nobody was let in"; }
grep '^/' /tmp/out
modprobe ubi
ubiattach -p /dev/mtd0 > /dev/null
refused "UBI is attached to it as ubi0; detach it"
ubidetach -p /dev/mtd0
rmmod ubi
forget
simulate $nand
modprobe mtdblock
modprobe jffs2
mount -t jffs2 /dev/mtdblock0 /mnt
refused "it is mounted on /mnt; unmount that"
umount /mnt
rmmod jffs2
rmmod mtdblock
forget
