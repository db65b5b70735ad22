# Our server on zoned block devices: the kernel's null one, and a zoned NVMe namespace of QEMU's, whose zones hold less than
# their size, of which few may be active, and whose blocks have 512 bytes. A file system on each, the server killed under it
# and started again.
# modules: null_blk nvme nbd crc32c_generic ext4
# programs: nbd-client(nbd-client) mkfs.ext4(e2fsprogs) e2fsck(e2fsprogs) blkzone(util-linux) fio(fio)
# built: thermocline
# zoned-nvme: 112M zone_size=4M zone_capacity=3M max_active=6 max_open=5 logical_block_size=512

for module in nbd crc32c_generic ext4 nvme; do modprobe $module; done
trap 'code=$?; [ $code = 0 ] || tail -n 20 /tmp/server; exit $code' EXIT

# What was cut off counts as leaked, and nothing may be lost.
lost() {
    thermocline check $chip --json > /tmp/out 2>&1 || true
    grep -q '"lost": 0,' /tmp/out && grep -q '"contradictions": \[\],' /tmp/out || { cat /tmp/server /tmp/out; fail "not sound $*"; }
}
verify() {
    fingerprints /mnt/net > /tmp/seen
    cmp /tmp/expected /tmp/seen || fail "files differ"
    cmp /tmp/random /mnt/random || fail "what was synced last differs"
}

# session DEVICE POLICY ROUNDS: a store on it, under which the server is killed once a round.
session() {
    chip=zoned:$1 policy=$2
    echo "$1: $(cat /sys/block/"${1#/dev/}"/queue/nr_zones) zones, $(cat /sys/block/"${1#/dev/}"/queue/max_active_zones) of them active (0: all), $2"
    rm -f /tmp/server
    # Something of another program's.
    last=$(blkzone report $1 | tail -1 | sed 's/^ *start: *\(0x[0-9a-f]*\).*/\1/')
    dd if=/dev/urandom of=$1 bs=4k count=1 seek=$((last / 8)) oflag=direct 2> /dev/null
    if thermocline format $chip > /tmp/out 2>&1; then fail "data of another program were formatted away"; fi
    thermocline format $chip --force --over-provisioning 60% > /tmp/out 2>&1 || { cat /tmp/out; fail "format"; }
    start_server $chip --policy $policy
    if thermocline check $chip > /tmp/out 2>&1; then fail "a device in use was opened twice"; fi
    mkfs.ext4 -q -F /dev/nbd0
    mount -t ext4 -o discard /dev/nbd0 /mnt
    cp -r /lib/modules/*/kernel/drivers/net /mnt/ 2> /dev/null || cp -r /lib/modules/*/kernel/drivers /mnt/net
    sync
    fingerprints /mnt/net > /tmp/expected
    for round in $(seq $3); do
        # Written over again and again, in whatever order.
        fio --name=churn --directory=/mnt --size=12m --io_size=24m --rw=randwrite --bs=4k --verify=crc32c --do_verify=1 \
            --verify_fatal=1 --end_fsync=1 --fallocate=none > /tmp/out 2>&1 || { cat /tmp/out; fail "fio in round $round"; }
        dd if=/dev/urandom of=/tmp/random bs=64k count=20 2> /dev/null
        dd if=/tmp/random of=/mnt/random bs=1M conv=fsync 2> /dev/null
        kill -9 $server
        wait $server || true
        nbd-client -d /dev/nbd0 > /dev/null 2>&1 || true
        umount /mnt 2> /dev/null || umount -l /mnt
        lost "after kill $round"
        start_server $chip --policy $policy
        e2fsck -fp /dev/nbd0 > /tmp/out 2>&1 || [ $? = 1 ] || { cat /tmp/out; fail "e2fsck after kill $round"; }
        mount -t ext4 -o discard /dev/nbd0 /mnt
        verify
    done
    umount /mnt
    stop_server
    lost "at the end"
    echo "$1: $(thermocline stat $chip | grep 'erases of a block')"
}

# null_blk SETTINGS…: /dev/nullb0 with these.
null_blk() {
    rmmod null_blk 2> /dev/null || true
    modprobe null_blk nr_devices=0
    mkdir -p /sys/kernel/config
    grep -q ' /sys/kernel/config ' /proc/mounts || mount -t configfs configfs /sys/kernel/config
    null=/sys/kernel/config/nullb/nullb0
    mkdir $null
    for setting in size=$size memory_backed=1 zoned=1 "$@"; do echo "${setting#*=}" > "$null/${setting%=*}"; done
    echo 1 > $null/power
    null=/dev/nullb0
}
size=80
null_blk blocksize=4096 zone_size=2 zone_nr_conv=4
session "$null" thermocline 1

for disk in /sys/block/nvme*; do [ "$(cat "$disk/queue/zoned")" != host-managed ] || nvme=/dev/${disk##*/}; done
session "$nvme" greedy 2
if thermocline serve zoned:$nvme --policy cat --unix /tmp/sock > /tmp/out 2>&1; then fail "too few active zones"; fi
grep -q "max_active_zones" /tmp/out || { cat /tmp/out; fail "no word of the limit"; }
