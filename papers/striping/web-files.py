#!/usr/bin/env python3
"""Writes the traffic of Figure 7 (e), beside this file: the files of a browser in clusters.

    python3 web-files.py

The printed utilizations of the statically assigned banks fall in almost equal steps from bank 1 on, around
the circle: 0.81, 0.77, 0.74, 0.72 of banks 1, 2, 3 and 0. A file system with clusters of four sectors does that
if clusters begin on bank 1: every cluster has its first sector written, and the last one of a file often no
more. With tails of any length the last bank lacks three quarters of a cluster for each file, so a file has
0.75 / (1 - 0.72 / 0.81) = 6.75 clusters on average, 13.5 KB. The two steps between come to 0.78 and 0.75 then.
So the files of this traffic have that size, and the erasures are not fitted.

How much is written follows from the printed erasures: 1,400 under dynamic assignment, of 32 pages each, are
the pages written and copied less the 16,384 that the device had free. Table 2 has 37,445 pages written, too
few for that unless each is copied once more. LENGTH is chosen for the sum.
"""

import gzip
import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("web_surfing", HERE / "web-surfing.py")
sys.dont_write_bytecode = True
web_surfing = importlib.util.module_from_spec(spec)
spec.loader.exec_module(web_surfing)

DEVICE = 16384
CLUSTER = 4
DIRECTORIES = 32
# Of a hundred files written, so many change their directory's entry, and so many the tables.
TO_DIRECTORY, TO_TABLES = 55, 20
# The first sector of the data area falls on bank 1.
DATA = 32 + 2 * 124 + 1
LENGTH = 48_500
# Slots of files, in clusters; a slot is written again with another file of about its size.
SHARE_HOT, SHARE_TO_HOT = 26, 74
USED = 0.766


def web_files(seed):
    """Requests: nanoseconds, first sector, sectors."""
    draws = web_surfing.Draws(seed)
    # Slots of 2 to 11 clusters: a slot of n clusters holds on average 1.5 sectors less than it could.
    slots, at, held = [], DATA + DIRECTORIES * CLUSTER, 0.0
    while held < USED * DEVICE - DATA:
        clusters = 2 + draws.below(10)
        if at + clusters * CLUSTER > DEVICE:
            break
        slots.append((at, clusters))
        at += clusters * CLUSTER
        held += clusters * CLUSTER - 1.5
    sizes = {}
    requests = []
    now, written = 0, 0
    hot = len(slots) * SHARE_HOT // 100

    def ask(first, pages):
        nonlocal now, written
        now += 1_500_000_000 if draws.happens(2) else draws.below(4_000_000)
        requests.append((now, first, pages))
        written += pages

    table, table_sectors = 32, 124
    fresh = 0
    for directory in range(DIRECTORIES):
        ask(DATA + directory * CLUSTER, CLUSTER)
    while written < LENGTH:
        if fresh < len(slots) and draws.happens(30):
            slot = fresh
            fresh += 1
        elif draws.happens(SHARE_TO_HOT):
            slot = draws.below(hot)
        else:
            slot = draws.below(len(slots))
        first, clusters = slots[slot]
        # The file keeps its clusters, and its last one is as full as it was: a page that is not written again
        # would stay in use otherwise.
        size = sizes.setdefault(slot, (clusters - 1) * CLUSTER + 1 + draws.below(CLUSTER))
        # The page cache writes 4 KiB at a time.
        for begin in range(0, size, 8):
            ask(first + begin, min(8, size - begin))
        # Its entry in its directory, and in both tables where its clusters change.
        if draws.happens(TO_DIRECTORY):
            ask(DATA + slot % DIRECTORIES * CLUSTER, 1)
        if draws.happens(TO_TABLES):
            sector = (first - DATA) // CLUSTER // 128
            ask(table + sector, 1)
            ask(table + table_sectors + sector, 1)
    return requests


if __name__ == "__main__":
    web_surfing.save("web-files.csv.gz", web_files(1))
