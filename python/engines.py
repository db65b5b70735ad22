"""One sweep on several engines at the same time, on one store and one data set: each cell once, each row once, one table.

    . .venv/bin/activate && pip install '.[arrow,dask]' ray joblib submitit
    python python/engines.py                 # 600 simulations: a minute
    python python/engines.py --seeds 20 --engines ray,threads

Prints JSON: what each engine computed. Fails if a cell was computed twice, a row is there twice, or a table differs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset

import thermocline as tc

GRID = {"workload": "hot-cold:90/10", "policy": ["greedy", "cat", "sep-bit"], "capacity": "32MiB", "bytes": "512MiB"}
ENGINES = ["processes", "multiprocessing", "joblib", "submitit", "dask", "ray"]


@contextlib.contextmanager
def engine(name: str, folder: Path) -> Iterator[Any]:
    """What is given as ``executor=``."""
    if name == "threads":
        yield None
    elif name == "processes":
        with ProcessPoolExecutor(1) as executor:
            yield executor
    elif name == "multiprocessing":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            yield pool
    elif name == "joblib":
        import joblib

        yield joblib.Parallel(n_jobs=1)
    elif name == "submitit":
        import submitit

        executor = submitit.LocalExecutor(folder / "jobs")
        executor.update_parameters(timeout_min=10)
        yield executor
    elif name == "dask":
        from distributed import Client, LocalCluster

        with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            yield client.get_executor()
    elif name == "ray":
        import ray

        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
        yield ray
        ray.shutdown()
    else:
        raise SystemExit(f"{name} is no engine; choose from {', '.join(ENGINES)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--engines", default=",".join(ENGINES))
    args = parser.parse_args()
    names = args.engines.split(",")
    with tempfile.TemporaryDirectory(prefix="thermocline-") as there, contextlib.ExitStack() as stack:
        folder = Path(there)
        engines = {name: stack.enter_context(engine(name, folder)) for name in names}

        def sweep(name: str) -> tc.Sweep:
            places: dict[str, Any] = {"store": folder / "store", "dataset": folder / "rows"}
            return tc.sweep(GRID, executor=engines[name], seeds=args.seeds, in_flight=2, progress=False, **places)

        with ThreadPoolExecutor(len(names)) as threads:
            swept = dict(zip(names, threads.map(sweep, names), strict=True))
        alone = tc.sweep(GRID, store=folder / "alone", seeds=args.seeds, progress=False)
        tables = [pa.table(one) for one in swept.values()]
        rows = pyarrow.dataset.dataset(folder / "rows").to_table()
        told = {
            "cells": len(alone),
            "computed": {name: one.computed for name, one in swept.items()},
            "failures": [one.failures for one in swept.values() if one.failures],
            "rows of the data set": rows.num_rows,
            "different rows": len(set(rows["digest"].to_pylist())),
            "tables are the one of this machine alone": all(one.equals(pa.table(alone)) for one in tables),
        }
    print(json.dumps(told, indent=2))
    once = sum(told["computed"].values()) == told["rows of the data set"] == told["different rows"] == told["cells"]
    if not once or told["failures"] or not told["tables are the one of this machine alone"]:
        raise SystemExit("the sweep is not what it must be")


if __name__ == "__main__":
    main()
