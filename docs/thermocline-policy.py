#!/usr/bin/env python3
"""The tables of thermocline-policy.md: the preset `thermocline` beside the others.

    docs/thermocline-policy.py [--policies NAMES] [--spare SHARES] [--blocks SIZES] [--inputs NAMES] [--results FILE] TRACES

TRACES is the folder with the recorded traces; those of the corpus and the generators are added. Every input runs looped
and in a single pass. FILE keeps the results: what is in it is not computed again. `--tables` prints without computing.
The binary is THERMOCLINE, or that of `make build`.

Copies are compared with SepBIT's, a thousandth of the host's writes added to both, so that inputs which hardly copy
weigh little. `policy(parameter=value)` is a policy of its own, for ablations.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THERMOCLINE = os.environ.get("THERMOCLINE") or str(
    Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "release" / "thermocline"
)
PRESET, BASELINE = "thermocline", "sep-bit"
POLICIES = (
    "thermocline,sep-bit,greedy,cost-benefit,lfs-batch,kawaguchi,cat,dac,hot-cold,double-hot-cold,update-interval,"
    "sep-gc,midas,multi-log,sfs,warcip,fadac,eti,auto-stream,multi-stream,d-choices,windowed-greedy,fifo,envy,linux-ftl,"
    "random,striping-static,striping-dynamic"
)
# What counts as no loss to the best preset.
SHARE, DIFFERENCE = 0.02, 0.01
PART = 0.001

# Name, arguments, loops. Every second input is of the half that parameters were tuned on.
TRACES = [
    ("mysql", ["1und1-linux-mysql.blkreplay.load.zst"], 4),
    ("vm", ["cloudphysics-vm.vscsi1.bin.zst", "--shift=-7s"], 4),
    ("phone", ["nexus5-emmc-daily-merged.csv.zst"], 2),
    ("boot", ["win11-boot.wpaexporter.csv.zst", "--footprint=written"], 4),
    ("iozone", ["msr-ssdext-iozone.disksim.ascii.zst"], 1),
    ("rocksdb", ["rocksdb-ycsba-xfs-trim.run1.extracted.csv.zst"], 2),
    ("hplajw", ["hp-hplajw-1992-1week.srt.zst"], 2),
    ("sqlite", ["sqlite-ext4.tct", "--ops=-trim"], 2),
    ("sqlite-trim", ["sqlite-ext4.tct"], 2),
    ("btrfs", ["developer-btrfs.tct", "--ops=-trim"], 2),
    ("ext4", ["developer-ext4.tct", "--ops=-trim"], 2),
]
PHASES = "phases:hot-cold:90/10@512MiB,uniform@512MiB,zipf:0.99@512MiB,hot-cold:80/20@512MiB"
GENERATORS = [
    ("uniform", ["--workload", "uniform", "--capacity", "256MiB", "--bytes", "2GiB"]),
    ("hot-cold", ["--workload", "hot-cold:90/10", "--capacity", "256MiB", "--bytes", "2GiB"]),
    ("zipf", ["--workload", "zipf:0.99", "--capacity", "256MiB", "--bytes", "2GiB"]),
    ("phases", ["--workload", PHASES, "--capacity", "256MiB"]),
]
CARD = ["--device", "intel-series2plus-24m", "--fill", "90%", "--bytes", "192MiB"]


def inputs(folder: Path) -> list[tuple[str, str, list[str]]]:
    """Name, how often it is replayed, arguments."""
    found = []
    for name, (file, *rest), loops in TRACES:
        path = next((path for path in (folder / file, ROOT / "corpus" / file) if path.exists()), None)
        if path is None:
            print(f"no {file} in {folder}", file=sys.stderr)
            continue
        found.append((name, "single", ["--trace", str(path), *rest]))
        if loops > 1:
            found.append((name, "looped", ["--trace", str(path), *rest, "--loop", str(loops)]))
    return found + [(name, "looped", args) for name, args in GENERATORS]


def compare(arguments: list[str], policies: list[str]) -> list[dict] | str:
    """The runs of a comparison, or why there are none."""
    command = [THERMOCLINE, "compare", *arguments, "--policies", ",".join(policies)]
    command += ["--no-oracle", "--no-progress", "--json", "--threads", "1"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        return (ran.stderr.splitlines() or ["failed"])[-1]
    return json.loads(ran.stdout)["runs"]


class Results:
    """What was computed, by input, loops, over-provisioning, block size and policy."""

    def __init__(self, file: Path | None) -> None:
        self.file, self.rows = file, {}
        if file and file.exists():
            for line in file.read_text().splitlines():
                key, row = json.loads(line)
                self.rows[tuple(key)] = row

    def add(self, key: tuple, row: dict) -> None:
        self.rows[key] = row
        if self.file:
            with self.file.open("a") as out:
                out.write(json.dumps([list(key), row]) + "\n")

    def run(self, setting: tuple, arguments: list[str], policies: list[str]) -> None:
        """Runs what is missing of a setting."""
        missing = [policy for policy in policies if (*setting, policy) not in self.rows]
        if not missing:
            return
        runs = compare(arguments, missing)
        if isinstance(runs, str):
            print(f"{setting}: {runs}", file=sys.stderr)
            return
        # Policies that find no room on a small device are missing.
        by_name = {run["config"]["policy"].replace(" ", ""): run for run in runs}
        for policy in (policy for policy in missing if policy in by_name):
            run = by_name[policy]
            host, copies = run["flash"]["pages_programmed"] - run["flash"]["pages_copied"], run["flash"]["pages_copied"]
            self.add((*setting, policy), {"copies": copies, "host": host, "erases": run["flash"]["blocks_erased"]})


def ratio(row: dict, base: dict) -> float:
    return (row["copies"] / row["host"] + PART) / (base["copies"] / base["host"] + PART)


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def settings(rows: dict, policy: str) -> dict[tuple, tuple[dict, dict]]:
    """A policy's row and SepBIT's, by setting."""
    return {
        key[:-1]: (row, rows[(*key[:-1], BASELINE)])
        for key, row in rows.items()
        if key[-1] == policy and key[0] != "card" and (*key[:-1], BASELINE) in rows
    }


def print_means(rows: dict, policies: list[str]) -> None:
    """Copies ÷ SepBIT's: geometric means, by loops and over-provisioning."""
    groups = sorted({(key[1], key[2]) for key in rows if key[0] != "card"})
    print("\n| policy | " + " | ".join(f"{loops}, {spare}" for loops, spare in groups) + " |")
    print("|---|" + "---|" * len(groups))
    for policy in policies:
        pairs, cells = settings(rows, policy), []
        for group in groups:
            ratios = [ratio(*pair) for key, pair in pairs.items() if key[1:3] == group]
            cells.append(f"{mean(ratios):.3f} ({len(ratios)})" if ratios else "–")
        print(f"| `{policy}` | " + " | ".join(cells) + " |")


def print_halves(rows: dict, policies: list[str]) -> None:
    """The variant that is best on one half of the inputs, on the other half."""
    names = sorted({key[0] for key in rows if key[0] != "card"})
    variants = [policy for policy in policies if policy.startswith(PRESET)]
    for loops in ("looped", "single"):
        for tuned in (0, 1):

            def of(policy: str, half: int) -> list[float]:
                pairs = settings(rows, policy).items()
                return [ratio(*p) for key, p in pairs if key[1] == loops and names.index(key[0]) % 2 == half]

            scored = [(mean(of(policy, tuned)), policy) for policy in variants if of(policy, tuned)]
            if scored and of(min(scored)[1], 1 - tuned):
                score, best = min(scored)
                judged = mean(of(best, 1 - tuned))
                print(f"\n{loops}: tuned on half {tuned + 1} ({score:.3f}) `{best}` comes to {judged:.3f} on the other")


def print_inputs(rows: dict, policies: list[str]) -> None:
    """Write amplification of each setting, and where the best preset is ahead."""
    keys = sorted({key[:-1] for key in rows if key[0] != "card"})
    print("\n| input | blocks, spare | " + " | ".join(f"`{policy}`" for policy in policies) + " |")
    print("|---|---|" + "---|" * len(policies))
    misses, judged = [], 0
    for key in keys:
        here = {policy: rows[(*key, policy)] for policy in policies if (*key, policy) in rows}
        amplification = {policy: 1 + row["copies"] / row["host"] for policy, row in here.items()}
        cells = [f"{amplification[policy]:.3f}" if policy in here else "–" for policy in policies]
        print(f"| {key[0]}, {key[1]} | {key[3]}, {key[2]} | " + " | ".join(cells) + " |")
        presets = {policy: value for policy, value in amplification.items() if "(" not in policy}
        if PRESET not in presets:
            continue
        judged += 1
        best = min(presets, key=presets.get)
        more, own = presets[PRESET] - presets[best], presets[PRESET] - 1
        if more > DIFFERENCE and own > (presets[best] - 1) * (1 + SHARE):
            misses.append((more, key, best, presets[PRESET], presets[best]))
    print(f"\nbehind the best preset in {len(misses)} of {judged} settings:\n")
    for _, key, best, own, other in sorted(misses, reverse=True):
        print(f"* {key[0]}, {key[1]}, {key[3]}, {key[2]}: {own:.3f}, `{best}` {other:.3f}")


def print_card(rows: dict, policies: list[str]) -> None:
    print("\n| policy | card, 90/10, erasures | card, uniform |\n|---|---|---|")
    for policy in policies:
        cells = [rows.get(("card", workload, policy)) for workload in ("hot-cold:90/10", "uniform")]
        print(f"| `{policy}` | " + " | ".join(str(cell["erases"]) if cell else "–" for cell in cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", default=POLICIES, help="separated by commas; parameters with ; between them")
    parser.add_argument("--spare", default="7%,15%,28%")
    parser.add_argument("--blocks", default="256KiB,1MiB,4MiB")
    parser.add_argument("--inputs", default="")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("folder", type=Path, metavar="TRACES")
    args = parser.parse_args()
    policies = [policy.replace(";", ",") for policy in args.policies.split(",")]
    wanted = set(filter(None, args.inputs.split(",")))
    results = Results(args.results)
    if not args.tables:
        for spare in args.spare.split(","):
            for block in args.blocks.split(","):
                for name, loops, arguments in inputs(args.folder):
                    if wanted and name not in wanted:
                        continue
                    setting = (name, loops, spare, block)
                    space = ["--over-provisioning", spare, "--block-size", block]
                    results.run(setting, [*arguments, *space], policies)
        if not wanted or "card" in wanted:
            for workload in ("hot-cold:90/10", "uniform"):
                results.run(("card", workload), [*CARD, "--workload", workload], policies)
    print_means(results.rows, policies)
    print_halves(results.rows, policies)
    print_inputs(results.rows, policies)
    print_card(results.rows, policies)


if __name__ == "__main__":
    main()
