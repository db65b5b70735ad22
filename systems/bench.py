#!/usr/bin/python3
"""The server's speed beside that of others, in one run on one machine: see bench.sh --help."""

import argparse
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
MEMORY = "/dev/shm"


class Cell:
    """One kind of work."""

    def __init__(self, name, rw, size, depth, jobs, extra=(), after_a_pass=False):
        self.name, self.rw, self.size, self.depth, self.jobs, self.extra = name, rw, size, depth, jobs, extra
        self.after_a_pass = after_a_pass

    def side(self):
        return "write" if "write" in self.rw else "read"


SHAPES = ((1, 1, "depth 1"), (16, 1, "depth 16"), (64, 1, "depth 64"), (16, 4, "depth 16 × 4 connections"))
CELLS = [Cell(f"4 KiB {rw}, {name}", rw, "4k", depth, jobs) for rw in ("randwrite", "randread") for depth, jobs, name in SHAPES]
CELLS += [Cell(f"1 MiB {rw}, depth 16", rw, "1m", 16, 1) for rw in ("write", "read")]
SYNCED = [
    Cell(f"4 KiB randwrite, flush after {after}, depth {depth}", "randwrite", "4k", depth, 1, (f"--fsync={after}",))
    for after in (1, 64)
    for depth in (1, 16, 64)
]
# What a chip comes to under large writes: those before it clean what random writes left.
STEADY = [Cell("1 MiB write after a pass of them, depth 16", "write", "1m", 16, 1, after_a_pass=True)]
# What is measured where: a file system in memory makes everything last at once.
RUNS = {"memory": CELLS + STEADY, "memory-fresh": CELLS, "disk": CELLS + STEADY + SYNCED, "disk-fresh": CELLS + SYNCED}
GOALS = {"memory": 1.0, "memory-fresh": 1.5, "disk": 0.8, "disk-fresh": 0.8}
SYNCED_GOAL = 1.5


class Server:
    """A running server; `command` leads to it."""

    def __init__(self, name, folder, command):
        self.name = name
        self.socket = os.path.join(folder, name.replace(" ", "-") + ".socket")
        self.uri = f"nbd+unix:///?socket={self.socket}"
        self.log = self.socket + ".log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command(self.socket), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.size = self._wait()

    def _wait(self):
        for _ in range(600):
            asked = subprocess.run(["nbdinfo", "--size", self.uri], capture_output=True, text=True, check=False)
            if asked.returncode == 0:
                return int(asked.stdout)
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        with open(self.log, encoding="utf-8", errors="replace") as log:
            raise SystemExit(f"bench: {self.name} did not start:\n{log.read()}")

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        self.resume()
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def fio(server, rw, size, depth, jobs, extra):
    command = [
        "fio", "--name=x", "--output-format=json", "--ioengine=nbd", f"--uri={server.uri}", "--thread", "--group_reporting",
        f"--rw={rw}", f"--bs={size}", f"--iodepth={depth}", f"--numjobs={jobs}", f"--size={server.size // MIB * MIB}",
        "--norandommap", "--randrepeat=0", *extra,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # fio says to whom it connected before its JSON begins.
    text = done.stdout[done.stdout.find("{") :]
    if done.returncode or not text:
        raise SystemExit(f"bench: fio on {server.name} failed:\n{done.stdout}{done.stderr}")
    job = json.loads(text)["jobs"][0]
    if job["error"]:
        raise SystemExit(f"bench: fio on {server.name}: error {job['error']}")
    return job


def measure(server, cell, seconds, most=None):
    """For some time, or until so many bytes are written."""
    server.resume()
    before = server.cpu_seconds()
    limit = [f"--io_size={most // cell.jobs}"] if most else ["--time_based"]
    job = fio(server, cell.rw, cell.size, cell.depth, cell.jobs, [*cell.extra, *limit, f"--runtime={int(seconds * 1000)}ms"])
    cpu = server.cpu_seconds() - before
    server.pause()
    side = job[cell.side()]
    return {
        "iops": side["iops"],
        "mb_per_s": side["bw_bytes"] / 1e6,
        "cpu_s_per_million": cpu / side["total_ios"] * 1e6,
        "p99_us": side["clat_ns"]["percentile"]["99.000000"] / 1e3,
    }


def prepare(server):
    """Full, then overwritten at random once: from here on a translation layer has to clean."""
    server.resume()
    fio(server, "write", "1m", 4, 1, [])
    fio(server, "randwrite", "4k", 16, 1, [])
    server.pause()


def starters(options, folder):
    """How each server is started on a socket, by name, in the order of the table."""
    ours = options.thermocline
    plain = os.path.join(folder, "plain.img")
    image = os.path.join(folder, "chip.img")
    device = ["--device", options.device, "--capacity", options.capacity]

    def on_image(socket):
        subprocess.run([ours, "format", image, *device], check=True, stdout=subprocess.DEVNULL)
        return [ours, "serve", image, "--unix", socket]

    def file_of(name, size):
        with open(os.path.join(folder, name), "wb") as out:
            out.truncate(size)
        return out.name

    return {
        "thermocline ram": lambda socket, _: [ours, "serve", "ram:", "--unix", socket, *device],
        "thermocline image": lambda socket, _: on_image(socket),
        "nbdkit memory": lambda socket, size: ["nbdkit", "--foreground", "--unix", socket, "memory", str(size)],
        "nbdkit file": lambda socket, size: ["nbdkit", "--foreground", "--unix", socket, "file", file_of("nbdkit.img", size)],
        "qemu-nbd": lambda socket, size: [
            "qemu-nbd", "--format=raw", "--persistent", "--shared=8", "--discard=unmap", f"--socket={socket}", file_of("qemu.img", size)
        ],
    }  # fmt: skip


def bytes_of(text):
    for unit, factor in (("GiB", 1 << 30), ("MiB", MIB)):
        if text.endswith(unit):
            return int(text[: -len(unit)]) * factor
    raise ValueError


def medians(rounds):
    return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


def rate(cell, result):
    """As it stands in the table: thousands a second for pages, MB/s for mebibytes; and CPU time."""
    if cell.size != "4k":
        return f"{result['mb_per_s']:.0f} ({result['cpu_s_per_million'] * 1024 / 1e6:.2f})"
    return f"{result['iops'] / 1000:.0f}k ({result['cpu_s_per_million']:.1f})"


def tables(servers, results):
    def table(head, rows):
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])

    mid = {server: {cell.name: medians(results[server][cell.name]) for cell in CELLS} for server in servers}
    parts = []
    for rw in ("randwrite", "randread"):
        cells = [cell for cell in CELLS if cell.rw == rw]
        large = next(cell for cell in CELLS if cell.rw == rw.removeprefix("rand"))
        head = ["server; IOPS (CPU s a million)"] + [f"{rw} " + cell.name.partition(", ")[2] for cell in cells] + [f"1 MiB {large.rw}, MB/s (CPU s a GiB)"]
        rows = [[server] + [rate(cell, mid[server][cell.name]) for cell in (*cells, large)] for server in servers]
        parts.append(table(head, rows))
    return "\n\n".join(parts), mid


def start(names, how, folder, options):
    """Ours first: the size that it exports is what the others get."""
    servers = []
    try:
        for name in names:
            size = servers[0].size if servers else bytes_of(options.capacity)
            servers.append(Server(name, folder, lambda socket, make=how[name], size=size: make(socket, size)))
            servers[-1].pause()
    except BaseException:
        for server in servers:
            server.stop()
        raise
    return servers


def run_full(options, folder, names, cells, results, done):
    """All servers are up at once, and were filled and overwritten at random."""
    servers = start(names, starters(options, folder), folder, options)
    try:
        for server in servers:
            print(f"bench: filling {server.name} ({server.size // MIB} MiB)", file=sys.stderr)
            prepare(server)
        for number in range(options.rounds):
            for cell in cells:
                print(f"bench: round {number + 1} of {options.rounds}: {cell.name}", file=sys.stderr)
                # Nobody is always first or always last.
                turn = number % len(servers)
                for server in servers[turn:] + servers[:turn]:
                    if cell.after_a_pass:
                        server.resume()
                        fio(server, "write", "1m", 4, 1, [])
                    results[server.name][cell.name].append(measure(server, cell, options.seconds))
                done()
    finally:
        for server in servers:
            server.stop()


def run_fresh(options, folder, names, cells, results, done):
    """Each measurement finds empty chips and files: writes go over half of them at most, reads to what was written in sequence."""
    for number in range(options.rounds):
        for cell in cells:
            print(f"bench: fresh, round {number + 1} of {options.rounds}: {cell.name}", file=sys.stderr)
            with tempfile.TemporaryDirectory(prefix="fresh.", dir=folder) as empty:
                servers = start(names, starters(options, empty), empty, options)
                try:
                    turn = number % len(servers)
                    for server in servers[turn:] + servers[:turn]:
                        is_read = cell.side() == "read"
                        if is_read:
                            server.resume()
                            fio(server, "write", "1m", 4, 1, [])
                        most = None if is_read else server.size // 2
                        results[server.name][cell.name].append(measure(server, cell, options.seconds, most))
                finally:
                    for server in servers:
                        server.stop()
            done()


def compare(name, cells, results):
    """Ours beside the one that keeps the same: an image beside a file, a chip in memory beside memory. Machines drift, so
    each round is a comparison of its own: the table has the median of their ratios, and the least and the greatest."""
    lines = [f"| {name}: of the other's speed (goal) | image, of nbdkit file | chip in memory, of nbdkit memory |", "|---|---|---|"]
    behind = 0
    for cell in cells:
        goal = SYNCED_GOAL if cell.extra else GOALS[name]
        row = []
        for ours, other, least in (("thermocline image", "nbdkit file", goal), ("thermocline ram", "nbdkit memory", 1.0)):
            rounds = zip(results.get(ours, {}).get(cell.name, ()), results.get(other, {}).get(cell.name, ()))
            ratios = [one["iops"] / two["iops"] for one, two in rounds]
            if not ratios:
                row.append("")
                continue
            ratio = statistics.median(ratios)
            behind += ratio < least
            spread = f" ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
            row.append(f"{ratio:.2f}{spread}" + ("" if ratio >= least else f", below {least}"))
        lines.append(f"| {cell.name} ({goal}) | " + " | ".join(row) + " |")
    return "\n".join(lines), behind


def save(options, load, all_results):
    """All that was measured so far."""
    results = {
        name: {server: {cell: {"median": medians(rounds), "all": rounds} for cell, rounds in of.items() if rounds} for server, of in run.items()}
        for name, run in all_results.items()
    }  # fmt: skip
    with open(options.json + ".new", "w", encoding="utf-8") as out:
        json.dump({
            "machine": {"cpus": os.cpu_count(), "kernel": platform.release(), "load_before": load},
            "versions": options.versions, "seconds": options.seconds, "rounds": options.rounds,
            "cells": [vars(cell) for cell in CELLS + STEADY + SYNCED], "results": results,
        }, out, indent=1)  # fmt: skip
    os.replace(options.json + ".new", options.json)


def version(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def main():
    parser = argparse.ArgumentParser(prog="systems/bench.sh", description=__doc__, epilog="""
        fio's nbd engine over Unix sockets. All servers are up at once, all but the measured one stopped (SIGSTOP);
        each kind of work goes round all of them before the next. Every disk is full and was overwritten once at random
        before. Figures are medians of the rounds; in brackets: the server's CPU seconds for a million operations.
        What was measured is saved after each kind of work, and shown when the run is interrupted.""")
    parser.add_argument("--quick", action="store_true", help="one round of each: some minutes instead of ten")
    parser.add_argument("--runs", nargs="+", choices=RUNS, default=list(RUNS), help="what to measure [all]")
    parser.add_argument("--disk", default=".", metavar="FOLDER", help="where files of a disk go [%(default)s]")
    parser.add_argument("--rounds", type=int, help="rounds [4; quick: 1]")
    parser.add_argument("--seconds", type=float, help="of each measurement [0.7; quick: 0.6]")
    parser.add_argument("--capacity", default="256MiB", help="of our chip; the others get what it exports [%(default)s]")
    parser.add_argument("--device", default=os.environ.get("DEVICE", "slc-generic"), help="profile of our chip [%(default)s]")
    parser.add_argument("--servers", nargs="+", metavar="NAME", help="only these, such as 'nbdkit memory' qemu-nbd")
    parser.add_argument("--json", default="bench-server.json", metavar="FILE", help="where all figures go [%(default)s]")
    parser.add_argument("--goal", action="store_true", help="fail unless ours reaches its goal in every row")
    options = parser.parse_args()
    try:
        bytes_of(options.capacity)
    except ValueError:
        parser.error(f"--capacity is a number of MiB or GiB, such as 256MiB, not '{options.capacity}'")
    options.rounds = options.rounds or (1 if options.quick else 4)
    options.seconds = options.seconds or (0.6 if options.quick else 0.7)
    options.thermocline = os.environ.get("THERMOCLINE", "thermocline")
    known = starters(options, "")
    for name in options.servers or ():
        if name not in known:
            parser.error(f"no server is called '{name}'; there are: {', '.join(known)}")
    if not options.servers or any(name.startswith("thermocline") for name in options.servers):
        if not shutil.which(options.thermocline):
            raise SystemExit(f"bench: no {options.thermocline}; run make build first, or name --servers")

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    load = os.getloadavg()
    if load[0] > 0.5:
        print(f"bench: the machine has other work (load {load[0]:.1f}): speeds say little, CPU times somewhat more", file=sys.stderr)
    options.versions = {
        "thermocline": version(options.thermocline, "--version"), "nbdkit": version("nbdkit", "--version"),
        "qemu-nbd": version("qemu-nbd", "--version"), "fio": version("fio", "--version"),
    }  # fmt: skip
    how = starters(options, "")
    all_results, missed, interrupted = {}, 0, False
    for name in options.runs:
        cells, is_disk = RUNS[name], name.startswith("disk")
        # On a disk only those that keep files, and in a fresh state only those that are compared.
        few = ("thermocline image", "nbdkit file") if is_disk else ("thermocline ram", "thermocline image", "nbdkit memory", "nbdkit file")
        wanted = few if is_disk or name.endswith("fresh") else how
        names = [server for server in wanted if not options.servers or server in options.servers]
        if not names:
            continue
        results = all_results[name] = {server: {cell.name: [] for cell in cells} for server in names}
        work = run_fresh if name.endswith("fresh") else run_full
        try:
            with tempfile.TemporaryDirectory(prefix="thermocline-bench.", dir=options.disk if is_disk else MEMORY) as folder:
                work(options, folder, names, cells, results, lambda: save(options, load, all_results))
        except (KeyboardInterrupt, SystemExit) as end:
            # A message is a failure of its own.
            if isinstance(getattr(end, "code", None), str):
                raise
            interrupted = True
        if name == "memory" and all(results[server][cell.name] for server in names for cell in CELLS):
            print(tables(names, results)[0], end="\n\n")
        text, behind = compare(name, cells, results)
        print(text, end="\n\n", flush=True)
        missed += behind
        if interrupted:
            break
    how_long = f"{time.monotonic() - began:.0f} s" + (", interrupted" if interrupted else "")
    print(f"bench: {how_long}; all figures in {options.json}", file=sys.stderr)
    sys.exit(130 if interrupted else 1 if options.goal and missed else 0)


if __name__ == "__main__":
    main()
