#!/usr/bin/env python3
"""Writes the traffic that stands in for the striping paper's private trace, beside this file.

    python3 web-surfing.py

A FAT volume that a browser and a mail program write to, made to the figures of the paper's Table 2:
8 MiB, empty at first and 71 % used in the end; 37,445 sectors written (18.284 MB); 5.7 sectors a
write; 74 % of the requests to 26 % of the addresses; 32 ms between requests on average, in bursts.
The paper's reads are left out, because its figures count writes.

Hot are the file allocation table, of which a few sectors count and each is written twice, some
directories, and the browser's cache, a fixed set of files of a few sectors each. Cold is what is
saved and stays. The sectors of the table and of the directories fall on the banks as they happen to:
that is what wears banks unevenly where pages are striped by number.

As in the paper (section 4), the other two access patterns are the same requests with other addresses.
"""

import gzip
import pathlib

PAGE = 512
DEVICE = 16384
USED = DEVICE * 71 // 100
HOT = USED * 26 // 100
WRITTEN = 37_445


class Draws:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def below(self, n):
        return (self.next() * n) >> 64

    def happens(self, percent):
        return self.below(100) < percent


def web_surfing(seed):
    """Requests: nanoseconds, first sector, sectors."""
    draws = Draws(seed)
    # 32 reserved sectors, two tables of 124: a sector and its copy fall on one bank of 2 or 4.
    table, table_sectors = 32, 124
    directories = [280 + 4 * i + i // 4 for i in range(6)]
    requests = []
    now, written, saved = 0, 0, HOT

    def ask(first, pages):
        nonlocal now, written
        now += 1_500_000_000 if draws.happens(2) else draws.below(4_000_000)
        requests.append((now, first, pages))
        written += pages

    while written < WRITTEN:
        kind = draws.below(100)
        if kind < 25:
            # A sector of the table and its copy, or a directory.
            sector = draws.below(2) if draws.happens(70) else draws.below(5)
            if draws.happens(75):
                ask(table + sector, 1)
                ask(table + table_sectors + sector, 1)
            else:
                ask(directories[draws.below(len(directories))], 1)
        elif kind < 70:
            pages = 4 + draws.below(14)
            ask(320 + draws.below((HOT - 320) // 18) * 18, pages)
        else:
            pages = 1 + draws.below(12)
            if saved + pages > USED:
                # The volume has what it will have: a file is saved again.
                ask(HOT + draws.below(USED - HOT - pages), pages)
            else:
                saved += pages
                ask(saved - pages, pages)
    return requests


def random_addresses(requests, seed):
    draws = Draws(seed)
    return [(now, draws.below(USED - pages), pages) for now, _, pages in requests]


def sequential_addresses(requests):
    moved, cursor = [], 0
    for now, _, pages in requests:
        if cursor + pages > USED:
            cursor = 0
        moved.append((now, cursor, pages))
        cursor += pages
    return moved


def save(name, requests):
    rows = (f"{now},write,0,{first * PAGE},{pages * PAGE}\n" for now, first, pages in requests)
    text = "time_ns,op,volume,offset,len\n" + "".join(rows)
    path = pathlib.Path(__file__).with_name(name)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def main():
    requests = web_surfing(1)
    save("web-surfing.csv.gz", requests)
    save("random.csv.gz", random_addresses(requests, 2))
    save("sequential.csv.gz", sequential_addresses(requests))


if __name__ == "__main__":
    main()
