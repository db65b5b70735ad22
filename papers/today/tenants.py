"""Writes the trace of eight tenants on one drive, as CSV: a volume each, without hints.

    python3 tenants.py >tenants.csv && thermocline trace convert tenants.csv tenants.tct

Each tenant has 64 MiB and one kind of traffic: two logs that go round, two stores of sorted runs that rewrite whole
files of 2 MiB, two databases with skewed updates, two file servers with uniform ones. Of each two, the second writes
a quarter of what the first does.
"""

import random

PAGE = 4096
PAGES = 16384
FILE = 512


def log(_draws, pages):
    """Goes round and round."""
    at = 0
    while True:
        yield at, pages
        at = (at + pages) % PAGES


def runs(draws, pages):
    """Rewrites one file after another, chosen at random, each in order."""
    while True:
        first = draws.randrange(PAGES // FILE) * FILE
        for at in range(first, first + FILE, pages):
            yield at, pages


def skewed(draws, pages):
    """Four fifths of the writes go to a fifth of the places, and so on within it; the places are scattered."""
    places = PAGES // pages
    order = list(range(places))
    draws.shuffle(order)
    while True:
        share = 1.0
        while share * places > 1 and draws.random() < 0.8:
            share *= 0.2
        low = 0 if share * places <= 1 else int(share * 0.2 * places)
        yield order[draws.randrange(low, max(low + 1, int(share * places)))] * pages, pages


def uniform(draws, pages):
    """Anywhere."""
    while True:
        yield draws.randrange(PAGES // pages) * pages, pages


TENANTS = [
    # name, traffic, pages a request, share of the pages written
    ("log-fast", log, 16, 0.24),
    ("log-slow", log, 16, 0.06),
    ("runs-fast", runs, 32, 0.24),
    ("runs-slow", runs, 32, 0.06),
    ("database-fast", skewed, 4, 0.16),
    ("database-slow", skewed, 4, 0.04),
    ("files-fast", uniform, 8, 0.16),
    ("files-slow", uniform, 8, 0.04),
]


def main():
    """Prints rows until four times as many pages were written as there are."""
    draws = random.Random(38)
    sources = [traffic(random.Random(at), pages) for at, (_, traffic, pages, _) in enumerate(TENANTS)]
    weights = [share / pages for _, _, pages, share in TENANTS]
    print("time_ns,op,volume,offset,len")
    now = written = 0
    while written < 4 * PAGES * len(TENANTS):
        tenant = draws.choices(range(len(TENANTS)), weights)[0]
        at, pages = next(sources[tenant])
        now += 100_000
        written += pages
        print(f"{now},write,{TENANTS[tenant][0]},{at * PAGE},{pages * PAGE}")


if __name__ == "__main__":
    main()
