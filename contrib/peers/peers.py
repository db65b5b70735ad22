#!/usr/bin/env python3
"""Host page writes per CPU second and memory a page: Thermocline beside public simulators that you have built.

Greedy cleaning, uniform writes of single 4 KiB pages, blocks of 256 pages, on a full device. Each simulator runs a
short and a long time, by turns with the others, and the difference counts: neither start nor fill is in the rate.
The median of all rounds is printed. All generate their writes themselves. Seconds are those of user time.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

PAGE = 4096
PAGES_PER_BLOCK = 256
# Overwrites of all logical pages in the two runs.
SHORT, LONG = 2, 6


class Setting:
    """A device and what is written to it."""

    def __init__(self, pages, spare, folder):
        self.blocks = pages // PAGES_PER_BLOCK
        self.pages = self.blocks * PAGES_PER_BLOCK
        self.logical = int(self.pages / (1 + spare))
        self.spare, self.folder = spare, folder


class Thermocline:
    """This simulator."""

    name = "thermocline"

    def __init__(self, binary):
        self.binary = binary

    def command(self, setting, times):
        device = ["--capacity", str(setting.pages * PAGE), "--block-size", str(PAGES_PER_BLOCK * PAGE)]
        device += ["--page-size", str(PAGE), "--over-provisioning", f"{setting.spare * 100}%"]
        writes = ["--workload", "uniform", "--bytes", str(times * setting.logical * PAGE)]
        return [self.binary, "run", "--policy", "greedy", "--threads", "1", "--json", *device, *writes]

    def write_amplification(self, output):
        return json.loads(output)["write_amplification"]


class SsdIq:
    """The simulator of "SSD-iq" (Haas et al., VLDB 2025): github.com/gabriel-haas/ssdiq, build/sim/sim."""

    name = "SSD-iq"

    def __init__(self, binary):
        self.binary = binary

    def command(self, setting, times):
        options = {"capacity": setting.pages * PAGE, "erase": PAGES_PER_BLOCK * PAGE, "page": PAGE}
        options |= {"ssdfill": 1 / (1 + setting.spare), "pattern": "uniform", "gc": "greedy", "writes": times, "load": "false"}
        return [self.binary, *(f"--{key}={value}" for key, value in options.items())]

    def write_amplification(self, output):
        rows = [line for line in output.splitlines() if line.startswith("bench,")]
        return float(rows[-1].split(",")[-2])


class Ftlsim:
    """Desnoyers' ftlsim (SYSTOR 2012): github.com/pjd-nu/sssl-ftlsim, the folder with its Python modules."""

    name = "ftlsim"
    SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import ftlsim, getaddr
blocks, pages, logical, times = map(int, sys.argv[2:])
ftl = ftlsim.ftl(blocks, pages)
ftl.minfree = ftl.maxfree = 3
ftl.get_input_pool = ftlsim.cvar.write_select_first
ftl.get_pool_to_clean = ftlsim.cvar.clean_select_first
pool = ftlsim.pool(ftl, "greedy", pages)
pool.next_pool = pool
free = [ftlsim.segment(pages) for _ in range(blocks)]
for block in free:
    block.thisown = False
pool.add_segment(free.pop())
for block in free:
    ftl.put_blk(block)
fill = getaddr.seq()
ftl.run(fill.handle, logical)
writes = getaddr.uniform(logical)
for _ in range(times):
    ftl.ext_writes = ftl.int_writes = 0
    ftl.run(writes.handle, logical)
print(ftl.int_writes / ftl.ext_writes)
"""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)

    def command(self, setting, times):
        numbers = (setting.blocks, PAGES_PER_BLOCK, setting.logical, times)
        return [sys.executable, "-c", self.SCRIPT, self.folder, *map(str, numbers)]

    def write_amplification(self, output):
        return float(output.split()[-1])


def measure(command, folder):
    """User seconds, peak bytes and output of a command."""
    with tempfile.TemporaryFile("w+", dir=folder) as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{text[-2000:]}")
    return usage.ru_utime, usage.ru_maxrss * 1024, text


def compare(peers, setting, rounds):
    """A row for each peer: rate, write amplification, bytes a page."""
    rates = {peer.name: [] for peer in peers}
    last = {}
    for _ in range(rounds):
        for peer in peers:
            short, _, _ = measure(peer.command(setting, SHORT), setting.folder)
            long, peak, output = measure(peer.command(setting, LONG), setting.folder)
            rates[peer.name].append((LONG - SHORT) * setting.logical / (long - short))
            last[peer.name] = (peer.write_amplification(output), peak / setting.pages)
    own = statistics.median(rates[Thermocline.name])
    for peer in peers:
        rate = statistics.median(rates[peer.name])
        amplification, memory = last[peer.name]
        times = own / rate
        print(f"| {setting.pages:,} | {peer.name} | {rate / 1e6:.2f} | {times:.1f} | {amplification:.2f} | {memory:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thermocline", default="thermocline", metavar="BINARY")
    peers = {"ssd-iq": SsdIq, "ftlsim": Ftlsim}
    for name, peer in peers.items():
        parser.add_argument(f"--{name}", metavar="PATH", help=peer.__doc__.strip().splitlines()[0])
    parser.add_argument("--pages", type=int, nargs="+", default=[1 << 20, 1 << 22], help="sizes of the device")
    parser.add_argument("--spare", type=float, default=0.15, help="pages beyond the logical ones, as a part of those")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    built = [peer(path) for name, peer in peers.items() if (path := getattr(args, name.replace("-", "_")))]
    print("| pages | simulator | M host writes per CPU second | Thermocline is faster by | write amplification | bytes a page |")
    print("|---|---|---|---|---|---|")
    for pages in args.pages:
        with tempfile.TemporaryDirectory() as folder:
            setting = Setting(pages, args.spare, folder)
            compare([Thermocline(args.thermocline), *built], setting, args.rounds)


if __name__ == "__main__":
    main()
