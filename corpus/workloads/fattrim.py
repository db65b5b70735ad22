"""fstrim for an unmounted FAT32 image: punches a hole for each run of free clusters.

    fattrim.py DISK

DISK is a file whose file system turns holes into trims (nbdfuse does).
"""

import array
import ctypes
import os
import struct
import sys

KEEP_SIZE, PUNCH_HOLE = 1, 2
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


def free_runs(fd: int):
    """Yields (offset, length) in bytes of each run of free clusters."""
    boot = os.pread(fd, 512, 0)
    sector, per_cluster, reserved, fats = struct.unpack_from("<HBHB", boot, 11)
    (sectors,) = struct.unpack_from("<I", boot, 32)
    (fat_sectors,) = struct.unpack_from("<I", boot, 36)
    if boot[82:87] != b"FAT32" or boot[510:512] != b"\x55\xaa":
        raise SystemExit("fattrim.py: no FAT32 file system here")
    data = reserved + fats * fat_sectors
    clusters = (sectors - data) // per_cluster
    table = array.array("I", os.pread(fd, 4 * (clusters + 2), reserved * sector))
    start = None
    for number in range(2, clusters + 3):
        free = number < clusters + 2 and table[number] & 0x0FFFFFFF == 0
        if free and start is None:
            start = number
        elif not free and start is not None:
            size = per_cluster * sector
            yield data * sector + (start - 2) * size, (number - start) * size
            start = None


def main() -> None:
    fd = os.open(sys.argv[1], os.O_RDWR)
    for offset, length in list(free_runs(fd)):
        if libc.fallocate(fd, KEEP_SIZE | PUNCH_HOLE, offset, length) != 0:
            raise OSError(ctypes.get_errno(), "punch hole")
    os.close(fd)


if __name__ == "__main__":
    main()
