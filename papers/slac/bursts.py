#!/usr/bin/env python3
"""Writes bursts after lone pauses, for the experiment never-worsens: bursts.csv.gz, beside this file.

    python3 bursts.py

On a full volume a hundred blocks are overwritten whole, 15 ms after one another; half a minute later
come 2000 reads, one every millisecond. Then the same again. The last request touches the last page, so
that the volume is as large as seven eighths of 64 MiB.
"""

import gzip
import pathlib

PAGE = 512
BLOCK = 32
BLOCKS = 100
PAGES = 4096 * BLOCK * 7 // 8
MS = 1_000_000


def requests():
    now = 0
    for block in range(2 * BLOCKS):
        if block % BLOCKS == 0 and block > 0:
            now += 30_000 * MS
        now += 15 * MS
        yield now, "write", block * BLOCK, BLOCK
        if block % BLOCKS == BLOCKS - 1:
            now += 30_000 * MS
            for read in range(2000):
                now += MS
                yield now, "read", read * BLOCK, 1
    yield now + MS, "read", PAGES - 1, 1


def main():
    rows = (f"{now},{op},0,{page * PAGE},{pages * PAGE}\n" for now, op, page, pages in requests())
    text = "time_ns,op,volume,offset,len\n" + "".join(rows)
    path = pathlib.Path(__file__).with_name("bursts.csv.gz")
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
