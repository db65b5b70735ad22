#!/usr/bin/env python3
"""The rows of README.md's tables, worked out from recordings.

    corpus/figures.py FILE...

The first table is `thermocline trace info --json`. Of the second, three columns need every request, read as
`thermocline trace convert --to csv` writes it: pages are 4 KiB, a write makes each page that it touches
valid, a trim makes each that lies in it whole invalid. The binary is THERMOCLINE, or that of `make build`.
"""

import csv
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

PAGE = 4096
MIB = 1 << 20
IDLE_NS = 20_000_000  # a longer gap between two requests is idle time

ROOT = Path(__file__).resolve().parent.parent
THERMOCLINE = os.environ.get("THERMOCLINE") or str(
    Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "release" / "thermocline"
)


def info(path: str) -> dict:
    command = [THERMOCLINE, "trace", "info", "--json", "--no-progress", path]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["traces"][0]


def deaths_and_idle(path: str) -> tuple[int, int]:
    """Page writes that a trim undid, and the sum of the gaps longer than IDLE_NS."""
    valid: set[int] = set()
    undone = idle = 0
    last = None
    command = [THERMOCLINE, "trace", "convert", path, "-", "--to", "csv", "--no-progress"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as convert:
        for row in csv.DictReader(convert.stdout):
            now, offset, length = int(row["time_ns"]), int(row["offset"]), int(row["len"])
            if last is not None and now - last > IDLE_NS:
                idle += now - last
            last = now
            end = offset + length
            if row["op"] == "write":
                valid.update(range(offset // PAGE, -(-end // PAGE)))
            elif row["op"] == "trim":
                dead = valid.intersection(range(-(-offset // PAGE), end // PAGE))
                undone += len(dead)
                valid -= dead
    if convert.returncode:
        sys.exit(f"figures.py: {path} could not be read")
    return undone, idle


def thousands(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    first, second = [], []
    for path in sys.argv[1:]:
        of = info(path)
        undone, idle = deaths_and_idle(path)
        content = Path(path).read_bytes()
        name = Path(path).name
        written, trimmed, write_set = (
            f"{of[key] / MIB:,.1f} MiB".replace(",", " ") for key in ("bytes_written", "bytes_trimmed", "write_set_bytes")
        )
        counts = {key: thousands(of[key]) for key in ("writes", "trims", "flushes", "reads")}
        first.append(
            f"| `{name}` | {counts['writes']} | {written} | {write_set} | ×{of['overwrite_factor']:.1f} | {counts['trims']} "
            f"| {counts['flushes']} | {counts['reads']} | {of['duration_ns'] / 1e9:.0f} s |"
        )
        second.append(
            f"| `{name}` | {of['top10_share'] * 100:.0f} / {of['top20_share'] * 100:.0f} % | {undone / of['page_writes'] * 100:.1f} % "
            f"| {trimmed} | {idle / 1e9:.0f} s | {thousands(len(content))} | `{hashlib.sha256(content).hexdigest()}` |"
        )
    print("| file | writes | written | write set | overwrite | trims | flushes | reads | time |")
    print("|---|---|---|---|---|---|---|---|---|", *first, sep="\n", end="\n\n")
    print("| file | hottest 10 % / 20 % | trimmed while valid | trimmed, as requested | idle | bytes | sha256 |")
    print("|---|---|---|---|---|---|---|", *second, sep="\n")


main()
