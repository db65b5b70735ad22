#!/usr/bin/env python3
"""Searches for two months of `hplajw` under which M6 saves what Figure 14 prints.

    python3 two-months.py THERMOCLINE hp-hplajw-1992-1week.srt.zst [--quick]

Of the two months one week is public. Each candidate here is nine weeks made of it, an assumption at a time, and then
together. The reader says which requests are metadata (`--trace-format srt-kinds`), so that files can move while inodes
and directories stay.

    move     share of the data blocks that lie elsewhere each week: new files in place of old ones
    grow     they are added, not replaced: old ones stay as cold data that nobody writes again
    shift    share of the metadata blocks that are others each week: the user works in another directory
    rest     share of the requests to data that weekends and holidays leave out, of every other week
    meta     times that each metadata write counts, for shares other than this week's 74 %
    map      how 334 MB of addresses become a card of 24 MB: modulo, scaled, or the pages written, densely
    scale    unit of ages over the mean gap, where ours is 1700

Prints, for each, what M6 saves of M1 and of M4 in erasures and copies, beside what is published.
"""

import argparse
import csv
import gzip
import io
import itertools
import json
import pathlib
import subprocess
import tempfile

WEEK_NS = 603_065 * 10**9
WEEKS = 7
BLOCK = 8192
CARD_PAGES = 20_000  # of 1 KiB, about what 85 % of the card hold
DISK = 325_000_000

PUBLISHED = {
    "greedy": (60.04, 86.04, None, None),
    "cost-benefit": (64.99, 93.44, 5.55, 31.03),
    "cat": (63.56, 91.88, 5.64, 27.93),
}


def hashed(*words):
    """SplitMix64 over some numbers."""
    state = 0
    for word in words:
        state = (state ^ word) + 0x9E3779B97F4A7C15 & (1 << 64) - 1
        z = state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        z = (z ^ z >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
        state = z ^ z >> 31
    return state


def happens(share, *words):
    return hashed(*words) < share * 2**64


def week(thermocline, trace):
    """Writes of the root file system: nanoseconds, whether metadata, offset, bytes."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "week.csv"
        subprocess.run(
            [thermocline, "trace", "convert", trace, str(out), "--trace-format", "srt-kinds", "--ops", "write"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        rows = csv.DictReader(io.StringIO(out.read_text()))
        wanted = {"0-data": False, "0-metadata": True}
        return [
            (int(row["time_ns"]), wanted[row["volume"]], int(row["offset"]), int(row["len"]))
            for row in rows
            if row["volume"] in wanted
        ]


def continuation(requests, p):
    """Requests of some weeks."""
    for number in range(WEEKS):
        for time, metadata, offset, length in requests:
            block, within = divmod(offset, BLOCK)
            if metadata:
                if number and happens(p["shift"], 1, block, number):
                    block = hashed(2, block, number) % (DISK // BLOCK)
                times = p["meta"]
            else:
                if number % 2 and happens(p["rest"], 3, time):
                    continue
                age = number if p["grow"] else number % 2
                if age and happens(p["move"], 4, block // 4):
                    # Files stay in one piece of 32 KiB.
                    block = hashed(5, block // 4, age) % (DISK // BLOCK // 4) * 4 + block % 4
                times = 1
            for _ in range(times):
                yield number * WEEK_NS + time, block * BLOCK + within, length


def mapped(requests, how):
    if how != "scaled":
        yield from requests
        return
    # Blocks keep their neighbours, and the disk is squeezed.
    blocks = CARD_PAGES * 1024 // BLOCK
    for time, offset, length in requests:
        block, within = divmod(offset, BLOCK)
        yield time, block * blocks // (DISK // BLOCK + 1) * BLOCK + within, length


def savings(thermocline, requests, p, folder):
    path = pathlib.Path(folder) / "months.csv.gz"
    with gzip.open(path, "wt", compresslevel=1) as out:
        out.write("time_ns,op,volume,offset,len\n")
        for time, offset, length in mapped(requests, p["map"]):
            out.write(f"{time},write,0,{offset},{length}\n")
    command = [thermocline, "compare", "--trace", str(path), "--device", "intel-series2plus-24m", "--page-size", "1KiB",
               "--fill", "85%", "--wrap", "--json", "--threads", "2"]
    command += ["--footprint", "written"] if p["map"] == "dense" else ["--absolute"]
    for victim in PUBLISHED:
        command += ["--victim", victim]
    for placement in ["m1", "m4", "m6"]:
        command += ["--placement", placement]
    if p["scale"] != 1:
        command += ["--time-scale", f"{1700 * WEEK_NS * WEEKS // 1_400_000 * p['scale'] // 10**9 + 1}s"]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    counts = {}
    for run in found["runs"]:
        victim, placement = run["config"]["victim"].split("(")[0], run["config"]["placement"]
        counts[victim, placement] = (run["flash"]["blocks_erased"], run["flash"]["pages_copied"])
    return counts


PLAIN = {"move": 0.0, "grow": False, "shift": 0.0, "rest": 0.0, "meta": 1, "map": "modulo", "scale": 1}


def candidates(quick):
    """Each assumption alone, then together."""
    yield PLAIN
    alone = [
        ("map", ["scaled", "dense"]),
        ("move", [0.25, 0.5, 1.0]),
        ("shift", [0.05, 0.2, 0.5, 1.0]),
        ("rest", [0.5, 1.0]),
        ("meta", [2, 4, 8]),
        ("scale", [0.01, 0.1, 10]),
    ]
    for name, values in alone[: 1 if quick else None]:
        for value in values:
            yield PLAIN | {name: value}
            if name == "move":
                yield PLAIN | {name: value, "grow": True}
    if quick:
        return
    for how, move, shift, meta, rest in itertools.product(
        ["modulo", "scaled", "dense"], [0.5, 1.0], [0.0, 0.2], [1, 4], [0.0, 0.5]
    ):
        yield PLAIN | {"map": how, "move": move, "grow": True, "shift": shift, "meta": meta, "rest": rest}


def shown(p):
    changed = [f"{name} {value}" for name, value in p.items() if value != PLAIN[name]]
    return ", ".join(changed) or "the week, seven times"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thermocline")
    parser.add_argument("trace")
    parser.add_argument("--quick", action="store_true", help="a few candidates")
    args = parser.parse_args()
    requests = week(args.thermocline, args.trace)
    columns = [(victim, than, what) for victim in PUBLISHED for than in ("m1", "m4") for what in (0, 1)]
    title = [f"{victim} of {than}, {'copies' if what else 'erasures'}" for victim, than, what in columns]
    print("| " + " | ".join(["continuation", *title]) + " |")
    print("|---|" + "--:|" * len(columns))
    figures = [value for row in PUBLISHED.values() for value in row]
    print("| published | " + " | ".join("" if value is None else f"{value:.1f}" for value in figures) + " |")
    for p in candidates(args.quick):
        with tempfile.TemporaryDirectory() as folder:
            counts = savings(args.thermocline, continuation(requests, p), p, folder)
        saved = [100 * (1 - counts[v, "m6"][what] / max(counts[v, than][what], 1)) for v, than, what in columns]
        print(f"| {shown(p)} | " + " | ".join(f"{value:.1f}" for value in saved) + " |", flush=True)


if __name__ == "__main__":
    main()
