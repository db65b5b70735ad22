#!/usr/bin/env python3
"""The tables of sampling.md: samples of traces beside the whole of them.

    docs/sampling.py [--policies NAMES] [--fit] TRACE...

Every trace is compared at 7 and 15 % over-provisioning as a whole and as samples with three seeds: 1/8 of blocks
of 256 pages, 1/8 and 1/16 of blocks of 512. Every second trace, in the order given, is one that the correction
was fitted on. --fit prints the factor that the data of those come to. The binary is THERMOCLINE, or that of
`make build`.
"""

import argparse
import json
import math
import os
import resource
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
THERMOCLINE = os.environ.get("THERMOCLINE") or str(
    Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "release" / "thermocline"
)
POLICIES = "greedy,cost-benefit,cat,dac,sep-bit,midas"
SETTINGS = [(256, 8), (512, 8), (512, 16)]
SEEDS = (1, 2, 3)
SHARES = ("7%", "15%")
# Write amplification above which a trace makes the device copy.
COPIES = 1.05


def compare(trace: str, policies: str, spare: str, pages: int, sample: list[str]) -> tuple[list[dict], float] | str:
    """The runs and the seconds of CPU time, or why there are none."""
    command = [THERMOCLINE, "compare", "--trace", trace, "--policies", policies, "--over-provisioning", spare]
    command += ["--block-size", f"{pages * 4}KiB", "--no-oracle", "--no-progress", "--json", "--threads", "1"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    ran = subprocess.run(command + sample, capture_output=True, text=True, check=False)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    if ran.returncode:
        return ran.stderr.splitlines()[-1]
    return json.loads(ran.stdout)["runs"], seconds


def rows(trace: str, tuned: bool, policies: str) -> list[dict]:
    """Every policy of every sample beside the whole."""
    found = []
    for spare in SHARES:
        for pages in sorted({pages for pages, _ in SETTINGS}):
            whole = compare(trace, policies, spare, pages, [])
            if isinstance(whole, str):
                raise SystemExit(whole)
            for of in (of for size, of in SETTINGS if size == pages):
                for seed in SEEDS:
                    part = compare(trace, policies, spare, pages, ["--sample", f"1/{of}", "--seed", str(seed)])
                    same = {"trace": Path(trace).name, "tuned": tuned, "spare": spare, "pages": pages, "of": of}
                    if isinstance(part, str):
                        found.append(same | {"refused": part})
                        continue
                    for run, sampled in zip(whole[0], part[0], strict=True):
                        true, sample = run["write_amplification"], sampled["sample"]
                        if true is None or sample["write_amplification"] is None:
                            continue
                        found.append(
                            same
                            | {"policy": run["config"]["policy"], "seconds": (whole[1], part[1]), "true": true}
                            | {"raw": sample["write_amplification"], "estimate": sampled["write_amplification"]}
                            | {"within": sample["least"] <= true <= sample["most"]}
                        )
    return found


def error(row: dict) -> float:
    return row["estimate"] / row["true"] - 1


def table(data: list[dict], pages: int, of: int, policies: list[str]) -> None:
    """A line for each trace and over-provisioning: the whole's figure, and the worst error of the seeds."""
    print(f"\n1/{of} of blocks of {pages} pages:\n")
    print("| trace | spare | " + " | ".join(policies) + " |\n|---|---|" + "---|" * len(policies))
    here = [row for row in data if (row["pages"], row["of"]) == (pages, of)]
    for trace, spare in dict.fromkeys((row["trace"], row["spare"]) for row in here):
        line = [row for row in here if (row["trace"], row["spare"]) == (trace, spare)]
        cells = []
        for policy in policies:
            mine = [row for row in line if row.get("policy") == policy]
            worst = max(mine, key=lambda row: abs(error(row)), default=None)
            mark = "" if all(row["within"] for row in mine) else " !"
            cells.append(f"{worst['true']:.3f} {100 * error(worst):+.1f} %{mark}" if worst else "refused")
        name = trace.split(".")[0] + ("" if line[0]["tuned"] else " °")
        print(f"| {name} | {spare} | " + " | ".join(cells) + " |")


def summary(data: list[dict]) -> None:
    """How far estimates are off, and how often the whole's figure is within the interval."""
    print("\n| traces | sample | estimates | mean error | mean, uncorrected | 95 % within | in the interval | of those that copy | CPU time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for tuned in (True, False):
        for pages, of in SETTINGS:
            mine = [row for row in data if (row["tuned"], row["pages"], row["of"]) == (tuned, pages, of)]
            mine = [row for row in mine if "policy" in row]
            if not mine:
                continue
            errors = sorted(abs(error(row)) for row in mine)
            raw = sum(abs(row["raw"] / row["true"] - 1) for row in mine) / len(mine)
            copying = [row["within"] for row in mine if row["true"] > COPIES]
            covered = f"{100 * sum(copying) / len(copying):.1f} % of {len(copying)}" if copying else "none"
            seconds = [sum(row["seconds"][side] for row in mine) for side in (0, 1)]
            print(
                f"| {'fitted on' if tuned else 'others'} | 1/{of} of {pages} | {len(mine)} "
                f"| {100 * sum(errors) / len(mine):.1f} % | {100 * raw:.1f} % "
                f"| {100 * errors[math.ceil(0.95 * len(errors)) - 1]:.1f} % "
                f"| {100 * sum(row['within'] for row in mine) / len(mine):.1f} % "
                f"| {covered} | {seconds[1] / seconds[0]:.2f} |"
            )


def fit(data: list[dict]) -> None:
    """The factor with which estimates of those that copy are right on average."""
    mine = [row for row in data if row["tuned"] and "policy" in row and max(row["true"], row["raw"]) > COPIES]

    def mean_error(factor: float) -> float:
        def more(row: dict) -> float:
            return math.exp(factor * (math.sqrt(row["of"] / row["pages"]) - math.sqrt(1 / row["pages"])))

        return sum((1 + (row["raw"] - 1) * more(row)) / row["true"] - 1 for row in mine) / len(mine)

    low, high = -2.0, 4.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if mean_error(middle) < 0 else (low, middle)
    print(f"\nfitted to {len(mine)} runs: {low:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    args = parser.parse_args()
    data = [row for at, trace in enumerate(args.traces) for row in rows(trace, at % 2 == 0, args.policies)]
    summary(data)
    for pages, of in SETTINGS:
        table(data, pages, of, args.policies.split(","))
    for why in dict.fromkeys(row["refused"] for row in data if "refused" in row):
        print(f"\n{why}")
    if args.fit:
        fit(data)


if __name__ == "__main__":
    main()
