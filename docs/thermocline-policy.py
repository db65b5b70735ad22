#!/usr/bin/env python3
"""The tables of thermocline-policy.md: the preset `thermocline` beside the others.

    docs/thermocline-policy.py [--policies NAMES] [--spare SHARES] [--blocks SIZES] [--inputs NAMES] [--results FILE] TRACES
    docs/thermocline-policy.py --tune [--spare SHARES] [--results FILE] TRACES
    docs/thermocline-policy.py --plateau PICTURE [--spare SHARE] [--results FILE] TRACES

TRACES is the folder with the recorded traces; those of the corpus and the generators are added. Every input runs looped
and in a single pass. FILE keeps the results: what is in it is not computed again. `--tables` prints without computing.
The binary is THERMOCLINE, or that of `make build`.

Copies are compared with SepBIT's, a thousandth of the host's writes added to both, so that inputs which hardly copy
weigh little. `policy(parameter=value)` is a policy of its own, for ablations.

`--tune` tunes all parameters on one half of the inputs and judges the outcome on the other half, then with the halves
exchanged. `--plateau` varies each parameter alone and draws what that costs.
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
# What is tuned and drawn.
BLOCK = "1MiB"

# Name, arguments, loops.
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
# What comes of one recording, or of one person's work, is in one half.
HALVES = (
    {"mysql", "phone", "iozone", "sqlite", "sqlite-trim", "hot-cold", "uniform"},
    {"vm", "boot", "rocksdb", "hplajw", "btrfs", "ext4", "zipf", "phases"},
)
# Where tuning begins: each rule of a weight alone, nothing presumed, no gate, few streams.
UNTUNED = {"hazard": "1", "age": "0", "prior": "1", "gate": "0", "streams": "4"}
GRID = {
    "hazard": ["0", "0.2", "0.4", "0.6", "1"],
    "age": ["0", "0.2", "0.5"],
    "prior": ["1", "16"],
    "gate": ["0", "0.04"],
    "streams": ["4", "6", "auto"],
}
# What each is without being told, and what the plateau shows.
DEFAULTS = {"hazard": "0.4", "age": "0.2", "prior": "16", "gate": "0.04", "streams": "auto"}
PLATEAU = {
    "hazard": ["0", "0.2", "0.3", "0.4", "0.5", "0.6", "0.8"],
    "age": ["0", "0.1", "0.2", "0.3", "0.4"],
    "prior": ["1", "4", "16", "64"],
    "gate": ["0", "0.02", "0.04", "0.08", "0.16"],
    "streams": ["2", "4", "6", "8", "auto"],
}
PHASES = "phases:hot-cold:90/10@512MiB,uniform@512MiB,zipf:0.99@512MiB,hot-cold:80/20@512MiB"
GENERATORS = [
    ("uniform", ["--workload", "uniform", "--capacity", "256MiB", "--bytes", "2GiB"]),
    ("hot-cold", ["--workload", "hot-cold:90/10", "--capacity", "256MiB", "--bytes", "2GiB"]),
    ("zipf", ["--workload", "zipf:0.99", "--capacity", "256MiB", "--bytes", "2GiB"]),
    ("phases", ["--workload", PHASES, "--capacity", "256MiB"]),
]
CARD_WORKLOADS = ("hot-cold:90/10", "uniform")
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
        runs = compare(arguments, [BASELINE, *(policy for policy in missing if policy != BASELINE)])
        if isinstance(runs, str):
            print(f"{setting}: {runs}", file=sys.stderr)
            return
        # Policies that find no room on a small device are missing.
        by_name = {run["config"]["policy"].replace(" ", ""): run for run in runs}
        if BASELINE not in by_name:
            print(f"{setting}: no room for {BASELINE}", file=sys.stderr)
            return
        base = by_name[BASELINE]["flash"]["pages_copied"]
        for policy in (policy for policy in missing if policy in by_name):
            run = by_name[policy]
            host, copies = run["flash"]["pages_programmed"] - run["flash"]["pages_copied"], run["flash"]["pages_copied"]
            erases = run["flash"]["blocks_erased"]
            self.add((*setting, policy), {"copies": copies, "host": host, "erases": erases, "base": base})


def ratio(row: dict) -> float:
    return (row["copies"] / row["host"] + PART) / (row["base"] / row["host"] + PART)


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def settings(rows: dict, policy: str) -> dict[tuple, dict]:
    """A policy's rows by setting."""
    return {key[:-1]: row for key, row in rows.items() if key[-1] == policy and key[0] != "card"}


def print_means(rows: dict, policies: list[str]) -> None:
    """Copies ÷ SepBIT's: geometric means, by loops and over-provisioning."""
    groups = sorted({(key[3], key[1], key[2]) for key in rows if key[0] != "card"})
    print("\n| policy | " + " | ".join(f"{block}, {loops}, {spare}" for block, loops, spare in groups) + " |")
    print("|---|" + "---|" * len(groups))
    for policy in policies:
        pairs, cells = settings(rows, policy), []
        for group in groups:
            ratios = [ratio(row) for key, row in pairs.items() if (key[3], key[1], key[2]) == group]
            cells.append(f"{mean(ratios):.3f} ({len(ratios)})" if ratios else "–")
        print(f"| `{policy}` | " + " | ".join(cells) + " |")


def named(parameters: dict[str, str]) -> str:
    """The preset with these parameters and no duel, which would replace them; `auto` is what it takes without being told."""
    told = ",".join(f"{key}={value}" for key, value in {**parameters, "duel": "no"}.items() if value != "auto")
    return f"{PRESET}({told})"


def ratios_of(rows: dict, policy: str, names: set[str], spare: str, block: str) -> list[float]:
    """Copies ÷ SepBIT's, looped and in single passes."""
    found = settings(rows, policy).items()
    return [ratio(row) for key, row in found if key[0] in names and key[2:] == (spare, block)]


def tune(results: Results, folder: Path, names: set[str], spare: str, block: str) -> dict[str, str]:
    """The best parameters for some inputs: one after another takes its best value, until none changes."""
    best = dict(UNTUNED)
    while True:
        before = dict(best)
        for key, values in GRID.items():
            variants = {value: named({**best, key: value}) for value in values}
            compute(results, folder, names, spare, block, list(variants.values()))
            scores = {
                value: mean(ratios_of(results.rows, policy, names, spare, block)) for value, policy in variants.items()
            }
            if scores[best[key]] > min(scores.values()):
                best[key] = min(scores, key=scores.get)
        if best == before:
            return best


def cross_validate(results: Results, folder: Path, spares: list[str], block: str) -> None:
    """Both halves tuned on, each judged on the other."""
    print("\n| spare | tuned on half | parameters | there | on the other half | the defaults there |\n|---|---|---|---|---|---|")
    for spare in spares:
        for tuned, other in ((0, 1), (1, 0)):
            best = tune(results, folder, HALVES[tuned], spare, block)
            policies = [PRESET, named(best)]
            compute(results, folder, HALVES[other], spare, block, policies)
            here = mean(ratios_of(results.rows, named(best), HALVES[tuned], spare, block))
            judged, own = (
                mean(ratios_of(results.rows, policy, HALVES[other], spare, block)) for policy in (named(best), PRESET)
            )
            told = ", ".join(f"{key}={value}" for key, value in best.items())
            print(f"| {spare} | {tuned + 1} | `{told}` | {here:.3f} | {judged:.3f} | {own:.3f} |")


def plateau(results: Results, folder: Path, spare: str, block: str, picture: Path) -> None:
    """Each parameter alone, the others as they are: a table, and its picture."""
    names, panels = HALVES[0] | HALVES[1], []
    for key, values in PLATEAU.items():
        policies = [named({key: value} if value != DEFAULTS[key] else {}) for value in values]
        compute(results, folder, names, spare, block, policies)
        lines = []
        for loops in ("looped", "single"):
            found = [settings(results.rows, policy) for policy in policies]
            lines.append([mean([ratio(row) for at, row in of.items() if at[1:] == (loops, spare, block)]) for of in found])
        panels.append((key, values, lines))
        for value, looped, single in zip(values, *lines):
            print(f"| `{key}={value}` | {looped:.3f} | {single:.3f} |")
    picture.write_text(draw(panels))


WIDTH, HEIGHT, LEFT, TOP, PANEL = 960, 300, 60, 50, 170


def draw(panels: list[tuple[str, list[str], list[list[float]]]]) -> str:
    """A panel for each parameter, side by side; looped and single passes as lines."""
    values = [value for _, _, lines in panels for line in lines for value in line]
    least, most = math.floor(min(values) * 20) / 20, math.ceil(max(values) * 20) / 20
    bottom = HEIGHT - 50

    def y(value: float) -> float:
        return bottom - (value - least) / (most - least) * (bottom - TOP)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        'aria-labelledby="t d">',
        '<title id="t">Copies divided by those of SepBIT, each parameter of the preset varied alone</title>',
        '<desc id="d">One panel for each parameter, one line for looped traces and generators, one for single passes. '
        "A ring marks the default.</desc>",
        "<style>text { font: 12px system-ui, sans-serif; fill: #1f2328; } .grid { stroke: #d1d9e0; } .name { font-weight: 600; }"
        " .looped { stroke: #0969da; fill: none; stroke-width: 2; } .single { stroke: #bc4c00; fill: none; stroke-width: 2;"
        " stroke-dasharray: 5 3; } .mark { fill: #ffffff; stroke-width: 2; stroke-dasharray: none; }</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        '<path class="looped" d="M60 20h30"/><text x="96" y="24">looped and generated</text>',
        '<path class="single" d="M240 20h30"/><text x="276" y="24">single pass</text>',
        '<text x="370" y="24">copies ÷ SepBIT\'s; a ring marks the default</text>',
    ]
    for tick in range(round(least * 20), round(most * 20) + 1):
        out.append(f'<path class="grid" d="M{LEFT} {y(tick / 20):.1f}H{WIDTH - 20}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(tick / 20) + 4:.1f}" text-anchor="end">{tick / 20:.2f}</text>')
    for number, (key, names, lines) in enumerate(panels):
        left = LEFT + number * (WIDTH - LEFT - 20) / len(panels) + 22
        step = (PANEL - 50) / max(len(names) - 1, 1)
        xs = [left + step * i for i in range(len(names))]
        for x, name in zip(xs, names):
            out.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{name}</text>')
        out.append(f'<text class="name" x="{(xs[0] + xs[-1]) / 2:.1f}" y="{bottom + 38}" text-anchor="middle">{key}</text>')
        for kind, line in zip(("looped", "single"), lines):
            points = " L".join(f"{x:.1f} {y(value):.1f}" for x, value in zip(xs, line))
            out.append(f'<path class="{kind}" d="M{points}"/>')
            at = names.index(DEFAULTS[key])
            out.append(f'<circle class="{kind} mark" cx="{xs[at]:.1f}" cy="{y(line[at]):.1f}" r="4"/>')
    return "\n".join([*out, "</svg>", ""])


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
        # Only what ran on a device of the same size.
        base = here.get(PRESET, {}).get("base")
        presets = {
            policy: value for policy, value in amplification.items() if "(" not in policy and here[policy]["base"] == base
        }
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
    """Erasures: the mean, the least and the most of some seeds."""
    print("\n| policy | card, 90/10, erasures | card, uniform |\n|---|---|---|")
    for policy in policies:
        cells = []
        for workload in CARD_WORKLOADS:
            erases = [row["erases"] for key, row in rows.items() if key[:2] == ("card", workload) and key[-1] == policy]
            cells.append(f"{sum(erases) / len(erases):,.0f} ({min(erases):,}–{max(erases):,})" if erases else "–")
        print(f"| `{policy}` | " + " | ".join(cells) + " |")


def compute(results: Results, folder: Path, names: set[str], spare: str, block: str, policies: list[str]) -> None:
    """Runs what is missing of some inputs, or of all."""
    for name, loops, arguments in inputs(folder):
        if not names or name in names:
            space = ["--over-provisioning", spare, "--block-size", block]
            results.run((name, loops, spare, block), [*arguments, *space], policies)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", default=POLICIES, help="separated by commas; parameters with ; between them")
    parser.add_argument("--spare", default="7%,15%,28%")
    parser.add_argument("--blocks", default="256KiB,1MiB,4MiB")
    parser.add_argument("--inputs", default="")
    parser.add_argument("--seeds", type=int, default=5, help="of the card's runs")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--plateau", type=Path, metavar="PICTURE")
    parser.add_argument("folder", type=Path, metavar="TRACES")
    args = parser.parse_args()
    policies = [policy.replace(";", ",") for policy in args.policies.split(",")]
    wanted = set(filter(None, args.inputs.split(",")))
    spares, blocks = args.spare.split(","), args.blocks.split(",")
    results = Results(args.results)
    if args.tune:
        return cross_validate(results, args.folder, spares, BLOCK)
    if args.plateau:
        return plateau(results, args.folder, spares[0], BLOCK, args.plateau)
    if not args.tables:
        for spare in spares:
            for block in blocks:
                compute(results, args.folder, wanted, spare, block, policies)
        if not wanted or "card" in wanted:
            for workload in CARD_WORKLOADS:
                for seed in range(1, args.seeds + 1):
                    results.run(
                        ("card", workload, seed), [*CARD, "--workload", workload, "--seed", str(seed)], policies
                    )
    print_means(results.rows, policies)
    print_inputs(results.rows, policies)
    print_card(results.rows, policies)
    return None


if __name__ == "__main__":
    main()
