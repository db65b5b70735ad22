# Files that are deleted without trims on ext4, with its journal and without: the server finds their blocks dead from the
# bitmaps, and every file that is left is whole.
# modules: crc32c_generic ext4
# programs: mkfs.ext4(e2fsprogs) e2fsck(e2fsprogs)
# server: unix
# serve: --dead-data fsaf
# host-check: [ "$(count dead_sectors_found)" -gt 30000 ] && [ "$(count requests trim)" = 0 ]

for module in crc32c_generic ext4; do modprobe $module; done
fingerprints /lib/modules > /tmp/expected
for features in has_journal ^has_journal; do
    mkfs.ext4 -q -F -E nodiscard -O $features "$DISK" > /tmp/out 2>&1 || { cat /tmp/out; fail mkfs.ext4; }
    mount -t ext4 "$DISK" /mnt
    for round in 1 2 3 4; do
        for copy in 1 2 3; do
            rm -rf /mnt/$copy
            # What is freed may be used again before its bitmap is written.
            [ $((round % 2)) = 0 ] || sync
            mkdir /mnt/$copy
            cp -r /lib/modules /mnt/$copy/
        done
        sync
        # The journal's bitmaps come to their places.
        umount /mnt
        mount -t ext4 "$DISK" /mnt
    done
    echo 3 > /proc/sys/vm/drop_caches
    for copy in 1 2 3; do
        fingerprints /mnt/$copy/modules > /tmp/seen
        cmp /tmp/expected /tmp/seen || fail "$features: copy $copy differs"
    done
    umount /mnt
    e2fsck -fn "$DISK" > /tmp/out 2>&1 || { cat /tmp/out; fail "e2fsck, $features"; }
done
