# Zones in a file on a disk that has a cache: QEMU is killed while a file system on the server is written, and all is lost
# that no flush covered, of the guest's memory and of the disk's cache. What was synced is there after the next boot.
# (QEMU's zoned namespaces and the kernel's null device forget their pointers when they end, so the zones are a file's.)
# modules: nbd ext4 crc32c_generic
# programs: nbd-client(nbd-client) mkfs.ext4(e2fsprogs) e2fsck(e2fsprogs) nbdkit(nbdkit)
# built: thermocline
# power-cut: 192M

for module in nbd crc32c_generic ext4; do modprobe $module; done
trap 'code=$?; [ $code = 0 ] || tail -n 20 /tmp/server; exit $code' EXIT
mkdir -p /zones
chip=zoned:/zones/zones
# The last block of the disk, which no file system has.
last=$(($(cat "/sys/block/${DISK#/dev/}/size") / 8 - 1))
# round N: what file N of a ring of eight holds then.
round() { yes "round $1" | head -c 1000000; }

if [ "$life" = 1 ]; then
    mkfs.ext4 -q -F -b 4096 $DISK $((last - 1024))
    mount -t ext4 -o commit=600 $DISK /zones
    truncate -s 96M /zones/zones
    printf '%s\n' 'zone-size 1MiB' 'capacity 768KiB' 'conventional 3' 'max-active 6' > /zones/zones.zones
    thermocline format $chip --over-provisioning 60% > /tmp/out 2>&1 || { cat /tmp/out; fail "format"; }
    sync
    start_server $chip --policy greedy
    mkfs.ext4 -q -F /dev/nbd0
    mount -t ext4 -o commit=600 /dev/nbd0 /mnt
    for number in $(seq 90); do
        # Some of it in place, some of it anew, and what nobody syncs beside it.
        round $number | dd of=/mnt/ring$((number % 8)) bs=64k conv=notrunc,fsync 2> /dev/null
        echo "GUEST says $number"
        dd if=/dev/urandom of=/mnt/loose bs=64k count=8 conv=notrunc oflag=direct 2> /dev/null
    done
    # In the cache of the disk at most.
    echo cached | dd of=$DISK bs=4k seek=$last conv=sync oflag=direct 2> /dev/null
    [ "$(dd if=$DISK bs=4k skip=$last count=1 iflag=direct 2> /dev/null | head -c 6)" = cached ]
    dd if=/dev/urandom of=/mnt/loose bs=64k count=64 conv=notrunc oflag=direct 2> /dev/null &
    echo "GUEST cut"
    sleep 60
fi

[ "$(dd if=$DISK bs=4k skip=$last count=1 iflag=direct 2> /dev/null | head -c 6)" != cached ] || fail "nothing was lost"
mount -t ext4 $DISK /zones
thermocline check $chip --json > /tmp/out 2>&1 || true
grep -q '"lost": 0,' /tmp/out && grep -q '"contradictions": \[\],' /tmp/out || { cat /tmp/out; fail "not sound"; }
grep -E '"(clean|leaked_pages|pages_verified)"' /tmp/out | tr -d '\n'; echo
start_server $chip --policy greedy
e2fsck -fp /dev/nbd0 > /tmp/out 2>&1 || [ $? = 1 ] || { cat /tmp/out; fail "e2fsck"; }
mount -t ext4 /dev/nbd0 /mnt
for number in $(seq $((said - 7)) $said); do
    round $number | cmp - /mnt/ring$((number % 8)) || fail "round $number was synced, and is not there"
done
umount /mnt
stop_server
thermocline stat $chip | grep 'erases of a block'
