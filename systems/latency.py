#!/usr/bin/python3
"""How long 4 KiB random writes wait on a full chip: with and without pacing, beside nbdkit, in one run."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from bench import MEMORY, Cell, bytes_of, fio, prepare, start, starters

SHARES = ((50, "median"), (99, "99 %"), (99.9, "99.9 %"), (99.99, "99.99 %"))
# Bounds of the histogram, in microseconds.
BOUNDS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
GOAL = 10
CELLS = [Cell(f"depth {depth}", "randwrite", "4k", depth, 1) for depth in (1, 16)]
FLUSHED = Cell("depth 1, flush after 64", "randwrite", "4k", 1, 1, ("--fsync=64",))


class Waits:
    """Latencies of fio's jobs, in nanoseconds: how many requests in each of its bins."""

    def __init__(self):
        self.bins, self.requests, self.seconds = {}, 0, 0.0

    def add(self, job):
        side = job["write"]
        for ns, count in side["clat_ns"]["bins"].items():
            self.bins[int(ns)] = self.bins.get(int(ns), 0) + count
        self.requests += side["total_ios"]
        self.seconds += side["runtime"] / 1e3

    def at(self, percent):
        """The bin in which this share of the requests ends, in microseconds."""
        due, seen = self.requests * percent / 100, 0
        for ns, count in sorted(self.bins.items()):
            seen += count
            if seen >= due:
                return ns / 1e3
        return 0.0

    def longest(self):
        return max(self.bins, default=0) / 1e3

    def below(self, us):
        return sum(count for ns, count in self.bins.items() if ns < us * 1e3) / max(self.requests, 1)


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def measure(servers, cells, options):
    waits = {server.name: {cell.name: Waits() for cell in cells} for server in servers}
    for number in range(options.rounds):
        turn = number % len(servers)
        for cell in cells:
            for server in servers[turn:] + servers[:turn]:
                server.resume()
                extra = [*cell.extra, "--time_based", f"--runtime={int(options.seconds * 1000)}ms", "--output-format=json+"]
                waits[server.name][cell.name].add(fio(server, cell.rw, cell.size, cell.depth, cell.jobs, extra))
                server.pause()
    return waits


def show(waits, cell):
    rows, bins = [], []
    for name, of in waits.items():
        wait = of[cell.name]
        median = wait.at(50)
        ratio = wait.at(99.9) / median if median else 0.0
        rows.append(
            [name, f"{wait.requests / wait.seconds / 1e3:.1f}k", *(f"{wait.at(share):.0f}" for share, _ in SHARES), f"{wait.longest():.0f}", f"{ratio:.1f}", f"{wait.requests}"]
        )
        edges = [0.0, *(wait.below(us) for us in BOUNDS), 1.0]
        bins.append([name, *(f"{(high - low) * 100:.3f}" for low, high in zip(edges, edges[1:]))])
    head = [f"{cell.name}: µs", "IOPS", *(name for _, name in SHARES), "longest", "99.9 % over median", "requests"]
    labels = [f"< {BOUNDS[0]}", *(f"{low} to {high}" for low, high in zip(BOUNDS, BOUNDS[1:])), f"≥ {BOUNDS[-1]}"]
    return table(head, rows) + "\n\n" + table([f"{cell.name}: % of the requests, by µs", *labels], bins)


def main():
    parser = argparse.ArgumentParser(prog="systems/latency.sh", description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="rounds [%(default)s]")
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement [%(default)s]")
    parser.add_argument("--capacity", default="256MiB", help="of our chip [%(default)s]")
    parser.add_argument("--device", default="slc-generic", help="profile of our chip [%(default)s]")
    parser.add_argument("--policy", help="of our chip [the default]")
    parser.add_argument("--image", metavar="FOLDER", help="our chips are images there, beside nbdkit's file plugin [chips in memory]")
    parser.add_argument("--json", metavar="FILE", help="where the histograms go [nowhere]")
    options = parser.parse_args()
    bytes_of(options.capacity)
    options.thermocline = os.environ.get("THERMOCLINE", "thermocline")
    policy = ["--policy", options.policy] if options.policy else []

    device = ["--device", options.device, "--capacity", options.capacity]

    def ours(pacing, folder):
        def command(socket, _):
            image = os.path.join(folder, f"{pacing}.img")
            if options.image:
                subprocess.run([options.thermocline, "format", image, *device], check=True, stdout=subprocess.DEVNULL)
            chip = [image] if options.image else ["ram:", *device]
            return [options.thermocline, "serve", *chip, "--unix", socket, *policy, "--pacing", pacing]

        return command

    with tempfile.TemporaryDirectory(prefix="thermocline-latency.", dir=options.image or MEMORY) as folder:
        other = "nbdkit file" if options.image else "nbdkit memory"
        how = {"off": ours("off", folder), "paced": ours("paced", folder), other: starters(options, folder)[other]}
        servers = start(list(how), how, folder, options)
        try:
            for server in servers:
                prepare(server)
            cells = [*CELLS, FLUSHED]
            waits = measure(servers, cells, options)
        finally:
            for server in servers:
                server.stop()
    print("\n\n".join(show(waits, cell) for cell in cells))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({name: {cell: wait.bins for cell, wait in of.items()} for name, of in waits.items()}, out)
    paced = waits["paced"][CELLS[0].name]
    is_met = paced.at(99.9) <= GOAL * paced.at(50)
    print(f"latency: goal: 99.9 % within {GOAL} times the median at depth 1: {'met' if is_met else 'missed'}", file=sys.stderr)


main()
