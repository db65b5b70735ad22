# File systems that the kernel of the machine outside may lack, on a served disk: make, fill, trim, mount again, verify.
# modules: crc32c_generic crc32_generic vfat nls_ascii nls_cp437 nls_iso8859-1 nls_utf8 f2fs ext4
# programs: mkfs.fat(dosfstools) mkfs.f2fs(f2fs-tools) mkfs.ext4(e2fsprogs) fsck.fat(dosfstools) fsck.f2fs(f2fs-tools) e2fsck(e2fsprogs)
# server: unix
# host-check: [ "$(count requests trim)" -gt 0 ] && [ "$(count requests flush)" -gt 0 ] && [ "$(count flash_blocks_erased)" -gt 0 ]

for module in crc32c_generic crc32_generic nls_ascii nls_cp437 nls_iso8859-1 nls_utf8 vfat f2fs ext4; do modprobe $module; done
queue=/sys/block/${DISK#/dev/}/queue
[ "$(cat "$queue/discard_max_bytes")" -gt 0 ] || fail "the disk takes no trims"
[ "$(cat "$queue/write_cache")" = "write back" ] || fail "the disk takes no flushes"

fingerprints /lib/modules > /tmp/expected
for kind in vfat f2fs ext4; do
    case $kind in
        vfat) make="mkfs.fat -F 32" check="fsck.fat -n" ;;
        f2fs) make="mkfs.f2fs -q -f" check="fsck.f2fs" ;;
        ext4) make="mkfs.ext4 -q -F" check="e2fsck -fn" ;;
    esac
    $make "$DISK" > /tmp/out 2>&1 || { cat /tmp/out; fail "$make"; }
    mount -t $kind "$DISK" /mnt
    for copy in 1 2 3 4; do mkdir /mnt/$copy; cp -r /lib/modules /mnt/$copy/; done
    sync
    rm -rf /mnt/2
    sync
    trimmed=$(fstrim -v /mnt)
    mkdir /mnt/5; cp -r /lib/modules /mnt/5/
    umount /mnt
    echo 3 > /proc/sys/vm/drop_caches
    $check "$DISK" > /tmp/out 2>&1 || { cat /tmp/out; fail "$check"; }
    mount -t $kind "$DISK" /mnt
    for copy in 1 3 4 5; do
        fingerprints /mnt/$copy/modules > /tmp/seen
        cmp /tmp/expected /tmp/seen || fail "$kind: copy $copy differs"
    done
    [ ! -e /mnt/2 ] || fail "$kind: what was removed is back"
    echo "$kind: $(wc -l < /tmp/expected) files four times, $(du -sm /mnt | cut -f1) MiB; ${trimmed#*: }"
    umount /mnt
done
