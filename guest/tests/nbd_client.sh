# The kernel's own NBD client, over TCP and two connections: it flushes, trims and, unlike others, sends FUA.
# The server counts a write with FUA among its flushes, though it was no request to flush.
# modules: crc32c_generic nbd ext4
# programs: nbd-client(nbd-client) mkfs.ext4(e2fsprogs) e2fsck(e2fsprogs)
# server: tcp
# host-check: [ "$(count flushes)" -gt $(($(count requests flush) + 50)) ] && [ "$(count connections_opened)" = 4 ] && [ "$(count requests trim)" -gt 0 ]

for module in crc32c_generic nbd ext4; do modprobe $module; done
connect() {
    nbd-client "$SERVER_HOST" "$SERVER_PORT" /dev/nbd1 -N "" -C 2 > /tmp/out 2>&1 || { cat /tmp/out; fail "connect"; }
}
connect
[ "$(cat /sys/block/nbd1/queue/fua)" = 1 ] || fail "the server offers no FUA"
[ "$(cat /sys/block/nbd1/queue/discard_max_bytes)" -gt 0 ] || fail "the server takes no trims"
mkfs.ext4 -q -F /dev/nbd1
mount -t ext4 -o discard /dev/nbd1 /mnt
# Every file is synced by itself: the journal's commit blocks are written with FUA.
for number in $(seq 50); do
    dd if=/dev/urandom of="/mnt/$number" bs=4k count=9 conv=fsync 2> /dev/null
done
cp -r /lib/modules /mnt/
rm /mnt/1?
sync
fingerprints /mnt > /tmp/expected
umount /mnt
nbd-client -d /dev/nbd1 > /dev/null

connect
e2fsck -fn /dev/nbd1 > /tmp/out 2>&1 || { cat /tmp/out; fail "e2fsck"; }
mount -t ext4 -o ro /dev/nbd1 /mnt
fingerprints /mnt > /tmp/seen
cmp /tmp/expected /tmp/seen || fail "files differ"
echo "$(wc -l < /tmp/seen) files, $(du -sm /mnt | cut -f1) MiB, verified over a new connection"
umount /mnt
nbd-client -d /dev/nbd1 > /dev/null
