# Files that are deleted without trims on ext4, with its journal and without: the server finds their blocks dead from the
# bitmaps, and every file that is left is whole.
# modules: crc32c_generic ext4
# programs: mkfs.ext4(e2fsprogs) e2fsck(e2fsprogs) fallocate(util-linux)
# server: unix
# serve: --dead-data fsaf
# host-check: echo "$(count dead_sectors_found) sectors found dead"; [ "$(count dead_sectors_found)" -gt 0 ] && [ "$(count requests trim)" = 0 ]

for module in crc32c_generic ext4; do modprobe $module; done
fingerprints /lib/modules > /tmp/expected
end=$(blockdev --getsize64 "$DISK")
# BusyBox has a fallocate too, which punches no holes and which its shell prefers.
fallocate=/usr/bin/fallocate
# A bitmap is believed when it is written again, and with a journal when that moves its tail.
again() { sync; umount /mnt; mount -t ext4 "$DISK" /mnt; }
for features in has_journal ^has_journal; do
    mkfs.ext4 -q -F -E nodiscard -O $features "$DISK" > /tmp/out 2>&1 || { cat /tmp/out; fail mkfs.ext4; }
    # Linux zeroes tables in the background, when it likes, by requests of this kind: zeros are no trims. The last blocks
    # are free.
    "$fallocate" -p -o $((end - 65536)) -l 65536 "$DISK" || fail fallocate
    mount -t ext4 "$DISK" /mnt
    for round in 1 2; do
        for copy in 1 2 3 4; do mkdir /mnt/$copy; cp -r /lib/modules /mnt/$copy/; done
        again
        rm -rf /mnt/1 /mnt/3
        again
        # What is freed may be used again before its bitmap is written.
        for copy in 5 6 7 8; do mkdir /mnt/$copy; cp -r /lib/modules /mnt/$copy/; done
        rm -rf /mnt/6 /mnt/8
        again
        for copy in 2 4 5 7; do
            fingerprints /mnt/$copy/modules > /tmp/seen
            cmp /tmp/expected /tmp/seen || fail "$features: copy $copy differs in round $round"
        done
        rm -rf /mnt/2 /mnt/4 /mnt/5 /mnt/7
    done
    umount /mnt
    e2fsck -fn "$DISK" > /tmp/out 2>&1 || { cat /tmp/out; fail "e2fsck, $features"; }
done
