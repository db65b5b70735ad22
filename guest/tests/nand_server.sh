# A server on raw NAND with bad blocks: a file system on it, the server killed under it and started again.
# modules: nandsim nbd crc32c_generic ext4
# programs: nbd-client(nbd-client) mkfs.ext4(e2fsprogs) e2fsck(e2fsprogs) nbdkit(nbdkit)
# files: /usr/lib/x86_64-linux-gnu/nbdkit/plugins/nbdkit-file-plugin.so

# What is tested: how the chip is formatted, and what serves it in the foreground. Until the server knows
# raw NAND another one stands in for it, on a file.
format="truncate -s 24M /tmp/disk"
serve="nbdkit --foreground --unix /tmp/sock file /tmp/disk"

for module in nbd crc32c_generic ext4; do modprobe $module; done
rmmod nandsim 2> /dev/null || true
# 32 MiB: 2^8 blocks of 64 pages of 2048 + 64 bytes.
modprobe nandsim id_bytes=0xec,0xa1,0x00,0x15 overridesize=8 badblocks=5,17
$format

start() {
    rm -f /tmp/sock
    $serve > /tmp/server 2>&1 &
    server=$!
    for _ in $(seq 100); do [ -S /tmp/sock ] && break; sleep 0.1; done
    nbd-client -unix /tmp/sock /dev/nbd0 -N "" > /tmp/out 2>&1 || { cat /tmp/out /tmp/server; fail "connect"; }
}
start
mkfs.ext4 -q -F /dev/nbd0
mount -t ext4 /dev/nbd0 /mnt
cp -r /lib/modules/*/kernel/drivers/mtd /mnt/
sync
fingerprints /mnt/mtd > /tmp/expected
# More than the chip holds, in all: it has to clean.
for _ in $(seq 5); do
    dd if=/dev/urandom of=/tmp/random bs=64k count=25 2> /dev/null
    for part in $(seq 4); do dd if=/tmp/random of="/mnt/random.$part" bs=1M conv=fsync 2> /dev/null; done
done
# Nothing is synced of this.
dd if=/dev/zero of=/mnt/unsynced bs=64k count=50 2> /dev/null
kill -9 $server
wait $server 2> /dev/null || true
umount /mnt 2> /dev/null || umount -l /mnt
nbd-client -d /dev/nbd0 > /dev/null 2>&1 || true

start
code=0
e2fsck -fy /dev/nbd0 > /tmp/out 2>&1 || code=$?
[ $code -le 1 ] || { cat /tmp/out; fail "e2fsck: $code"; }
mount -t ext4 /dev/nbd0 /mnt
fingerprints /mnt/mtd > /tmp/seen
cmp /tmp/expected /tmp/seen || fail "files differ"
for part in $(seq 4); do
    cmp /tmp/random "/mnt/random.$part" || fail "what was synced last differs"
done
echo "$(wc -l < /tmp/seen) files and 6 MiB that were synced are there after the server was killed"
umount /mnt
nbd-client -d /dev/nbd0 > /dev/null
kill $server
wait $server 2> /dev/null || true
# The chip still knows its bad blocks, and may know more.
[ "$(cat /sys/class/mtd/mtd0/bad_blocks)" -ge 2 ] || fail "bad blocks were lost"
rmmod nandsim
