# A store on a zoned NVMe namespace beside dm-zoned, f2fs and btrfs on the same one: what the host wrote, what the
# device was written, and how fast. dm-zoned and f2fs get a disk without zones beside it, which they need: what they write
# there counts too. dm-zoned is left out where this machine has no dmzadm (of dm-zoned-tools).
#
# Each row: who; MiB that the load wrote; MiB that the devices were written; the second over the first; writes a second;
# resets of zones, of those that the kernel told the device.
# modules: nvme null_blk nbd dm_zoned ext4 f2fs btrfs crc32c_generic crc32_generic xxhash_generic sha256_generic blake2b_generic
# programs: nbd-client(nbd-client) mkfs.ext4(e2fsprogs) mkfs.f2fs(f2fs-tools) mkfs.btrfs(btrfs-progs) blkzone(util-linux) fio(fio) dmsetup(dmsetup)
# if there: dmzadm
# built: thermocline
# zoned-nvme: 512M zone_size=4M logical_block_size=4096
# seconds: 3000

for module in crc32c_generic crc32_generic xxhash_generic sha256_generic blake2b_generic nvme nbd dm_zoned ext4 f2fs btrfs; do modprobe $module || true; done
PATH=$PATH:/usr/local/sbin:/usr/local/bin
seconds=60
region=384m
modprobe null_blk nr_devices=0
mkdir -p /sys/kernel/config
mount -t configfs configfs /sys/kernel/config
plain=/sys/kernel/config/nullb/nullb0
mkdir $plain
for setting in size=64 memory_backed=1 blocksize=4096 power=1; do echo "${setting#*=}" > "$plain/${setting%=*}"; done
plain=/dev/nullb0
for disk in /sys/block/nvme*; do [ "$(cat "$disk/queue/zoned")" != host-managed ] || zones=/dev/${disk##*/}; done
echo "$(cat "/sys/block/${zones#/dev/}/queue/nr_zones") zones of $(($(cat "/sys/block/${zones#/dev/}/queue/chunk_sectors") / 2048)) MiB, and $(($(cat /sys/block/nullb0/size) / 2048)) MiB without"

# written: KiB that were written to the devices.
written() { cat "/sys/block/${zones#/dev/}/stat" /sys/block/nullb0/stat | awk '{kib += $7 / 2} END {printf "%d", kib}'; }
# The kernel's trace of what it tells the device of zones; 4 is a reset.
mount -t tracefs tracefs /sys/kernel/tracing
trace=/sys/kernel/tracing
echo 16384 > $trace/buffer_size_kb
echo 'opcode == 0x79' > $trace/events/nvme/nvme_setup_cmd/filter
echo 1 > $trace/events/nvme/nvme_setup_cmd/enable
resets() { grep -c 'zsa=4,' $trace/trace || true; }
# row NAME: what fio, whose answer is in /tmp/fio, wrote since the devices had been written $before.
row() {
    sync
    awk -F';' -v name="$1" -v kib=$(($(written) - before)) -v resets=$(resets) '
        /^3;/ {printf "%-34s %7.1f %8.1f %7.2f %8d %7d\n", name, $47 / 1024, kib / 1024, kib / $47, $49, resets}' /tmp/fio
}
# measure NAME FIO-OPTIONS…
measure() {
    local name=$1
    shift
    sync
    before=$(written)
    echo > $trace/trace
    fio --name=load --output-format=terse --terse-version=3 "$@" > /tmp/fio 2> /tmp/fio.err || { cat /tmp/fio.err; echo "$name: fio failed"; dmesg | tail -5; return 0; }
    row "$name"
}
# blocks WHO DISK: the loads of a disk.
blocks() {
    fio --name=fill --filename=$2 --direct=1 --rw=write --bs=256k --size=$region > /tmp/out 2>&1 || { cat /tmp/out; fail "$1: fill"; }
    who=$1
    set -- --filename="$2" --direct=1 --rw=randwrite --bs=4k --size=$region --ioengine=libaio --iodepth=16 --norandommap --time_based --runtime=$seconds --end_fsync=1
    measure "$who, uniform" "$@"
    measure "$who, zipf 1.2" "$@" --random_distribution=zipf:1.2
}
# files WHO: the load of what is mounted at /mnt.
files() {
    mkdir /mnt/load
    who=$1
    set -- --directory=/mnt/load --nrfiles=80 --filesize=2m --file_service_type=random --bs=4k --fallocate=none
    fio --name=load "$@" --rw=write --io_size=160m --end_fsync=1 > /tmp/out 2>&1 || { cat /tmp/out; fail "$who: fill"; }
    measure "$who" "$@" --rw=randwrite --norandommap --random_distribution=zipf:1.2 --fsync=32 --time_based --runtime=$seconds
    umount /mnt
}
blank() { blkzone reset $zones; dd if=/dev/zero of=$plain bs=1M count=64 2> /dev/null || true; sync; }

store() { # POLICY
    blank
    thermocline format zoned:$zones --force > /tmp/out 2>&1 || { cat /tmp/out; fail "format"; }
    start_server zoned:$zones --policy "$1"
}
has() { command -v "$1" > /dev/null; }
dmzoned() {
    blank
    dmzadm --format $plain $zones > /tmp/out 2>&1 || { cat /tmp/out; fail "dmzadm --format"; }
    dmzadm --start $plain $zones > /tmp/out 2>&1 || { cat /tmp/out; dmesg | tail; fail "dmzadm --start"; }
    dm=/dev/dm-0
}

echo "4 KiB writes at random in $region, 16 at once, $seconds s each"
for policy in greedy thermocline; do
    store $policy
    blocks "thermocline ($policy)" /dev/nbd0
    stop_server
done
if has dmzadm; then
    dmzoned
    blocks dm-zoned $dm
    dmsetup remove_all
else
    echo "dm-zoned: no dmzadm on this machine"
fi
echo "4 KiB writes at random in 80 files of 2 MiB, zipf 1.2, each 32 of them synced"
store thermocline
mkfs.ext4 -q -F /dev/nbd0
mount -t ext4 -o discard /dev/nbd0 /mnt
files "ext4 on thermocline"
stop_server
if has dmzadm; then
    dmzoned
    mkfs.ext4 -q -F $dm
    mount -t ext4 $dm /mnt
    files "ext4 on dm-zoned"
    dmsetup remove_all
fi
blank
if mkfs.f2fs -q -f -m -c $zones $plain > /tmp/out 2>&1 && mount -t f2fs $plain /mnt; then files f2fs; else tail -3 /tmp/out; dmesg | tail -3; fi
blank
if mkfs.btrfs -q -f -O zoned -d single -m single $zones > /tmp/out 2>&1 && mount -t btrfs $zones /mnt; then files btrfs; else tail -3 /tmp/out; dmesg | tail -3; fi
