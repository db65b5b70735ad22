"""A sweep on a cluster that loses a worker and its scheduler, held against the same sweep on this machine.

    . .venv/bin/activate && pip install '.[arrow,dask]'
    python python/cluster.py                 # 1,000 simulations, and the memory of 10,000: two minutes
    python python/cluster.py --jobs 40 --volumes 4 --memory 10,100

A scheduler and workers of Dask run as processes of their own; a process that ends is started again, as a service
manager would. When a third of the results are there, a worker is killed; at two thirds the scheduler. What workers
compute is counted by themselves. Prints JSON; fails if something was computed twice, or differs.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
from distributed import Client

import thermocline as tc

POLICIES = ["greedy", "cost-benefit", "cat", "dac", "sep-bit"]
SPACES = ["7%", "15%"]
TINY = {"workload": "uniform", "capacity": "2MiB", "bytes": "1MiB", "block_size": "32KiB", "policy": "greedy"}


class Cluster:
    """Processes of Dask that are started again when they end."""

    def __init__(self, workers: int, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        quiet = ["--no-dashboard", "--host", "127.0.0.1"]
        scheduler = ["scheduler", "--port", str(self.port), *quiet]
        worker = ["worker", self.address, "--nthreads", "1", "--no-nanny", "--local-directory", str(folder), *quiet]
        self._commands = [scheduler, *(worker for _ in range(workers))]
        self._log = (folder / "log").open("w")
        self.processes = [self._start(command) for command in self._commands]
        self.restarts = 0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._supervise)
        self._watch.start()

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "dask", *command], stdout=self._log, stderr=self._log)

    def _supervise(self) -> None:
        while not self._over.wait(0.1):
            for at, process in enumerate(self.processes):
                if process.poll() is not None:
                    self.processes[at] = self._start(self._commands[at])
                    self.restarts += 1

    def kill(self, at: int) -> None:
        """Ends a process at once; number 0 is the scheduler."""
        self.processes[at].send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Ends them all."""
        self._over.set()
        self._watch.join()
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self._log.close()


def counted(work: Any, log: str, *arguments: Any) -> Any:
    """On a worker: notes what it begins and what it computed."""

    def note(*words: object) -> None:
        with open(log, "a") as file:
            file.write(" ".join(map(str, words)) + "\n")

    digest = getattr(arguments[0], "digest", "-")
    note("begun", digest, os.getpid())
    outcome = work(*arguments)
    if outcome.computed:
        note("computed", digest, os.getpid())
    return outcome


class Counting(Client):
    """A client of Dask whose workers count."""

    log = ""

    def submit(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        return super().submit(counted, func, self.log, *args, **kwargs)


def volumes(folder: Path, count: int) -> list[str]:
    """Generated volumes as Parquet files, each with traffic of its own."""
    paths: list[str] = []
    for number in range(count):
        hot = 70 + number % 25
        columns = tc.trace.generate(f"hot-cold:{hot}/{100 - hot}", span="8MiB", bytes="24MiB", seed=number + 1)
        paths.append(str(folder / f"volume-{number:03}.parquet"))
        pyarrow.parquet.write_table(pa.table(columns), paths[-1])
    return paths


def results(store: Path) -> int:
    """How many there are."""
    return sum(name.endswith(".json") for name in os.listdir(store)) if store.is_dir() else 0


@contextlib.contextmanager
def accidents(cluster: Cluster, store: Path, jobs: int) -> Iterator[list[str]]:
    """Kills a worker at a third of the results, the scheduler at two thirds. What happened when."""
    happened: list[str] = []
    over = threading.Event()

    def run() -> None:
        for share, at, what in ((1 / 3, 1, "worker"), (2 / 3, 0, "scheduler")):
            while results(store) < share * jobs:
                if over.wait(0.05):
                    return
            happened.append(f"{what} killed at {results(store)} of {jobs}")
            cluster.kill(at)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield happened
    finally:
        over.set()
        thread.join()


def sweep(jobs: int, count: int, workers: int, folder: Path) -> dict[str, Any]:
    """The sweep, with its accidents, held against one on this machine."""
    settings = len(POLICIES) * len(SPACES)
    paths = volumes(folder, count)
    grid = {"trace": paths, "policy": POLICIES, "over_provisioning": SPACES}
    seeds = max(jobs // (count * settings), 1)
    jobs = count * settings * seeds
    store, log, rows = folder / "store", folder / "count", folder / "rows"
    cluster = Cluster(workers, folder)
    try:
        with Counting(cluster.address, timeout=60) as client, accidents(cluster, store, jobs) as happened:
            client.wait_for_workers(workers, timeout=120)
            began = time.perf_counter()
            client.log = str(log)
            executor = client.get_executor()
            there = tc.sweep(grid, store=store, dataset=rows, seeds=seeds, executor=executor, progress=False)
            took = time.perf_counter() - began
    finally:
        cluster.close()
    here = tc.sweep(grid, store=folder / "local", seeds=seeds, progress=False)
    words = [line.split() for line in log.read_text().splitlines()]
    times = collections.Counter(digest for what, digest, _ in words if what == "computed")
    # A worker that is killed between keeping a result and noting it leaves one that nobody noted.
    unnoted = sum(path.stem not in times for path in store.glob("*.json"))
    table = pa.table(there)
    written = pyarrow.dataset.dataset(rows).to_table()
    order = [(name, "ascending") for name in table.column_names if name.startswith("asked.")]
    told = {
        "jobs": jobs,
        "seconds": round(took, 2),
        "accidents": happened,
        "processes started again": cluster.restarts,
        "calls of workers": sum(what == "begun" for what, *_ in words),
        "simulations computed": sum(times.values()),
        "kept by a worker that ended before it noted so": unnoted,
        "computed twice": sum(n > 1 for n in times.values()),
        "failures": there.failures,
        "table is the local one": table.equals(pa.table(here)),
        "data set is the table": written.drop_columns(["digest"]).sort_by(order).equals(table.sort_by(order)),
        "files of the data set": len(list(rows.iterdir())),
    }
    missing = len(times) + unnoted != jobs or unnoted > cluster.restarts
    wrong = told["failures"] or told["computed twice"] or missing or len(happened) < 2
    if wrong or not told["table is the local one"] or not told["data set is the table"]:
        raise SystemExit(f"the sweep is not what it must be: {json.dumps(told, indent=2)}")
    return told


def client_of(address: str, jobs: int, in_flight: int) -> dict[str, float]:
    """A sweep of tiny cells in this process: seconds, and the greatest memory of the client."""
    with Client(address, timeout=60) as client, tempfile.TemporaryDirectory() as folder:
        tc.sweep(TINY, store=f"{folder}/first", seeds=8, executor=client.get_executor(), progress=False)
        began, busy = time.perf_counter(), time.process_time()
        options: dict[str, Any] = {"executor": client.get_executor(), "in_flight": in_flight, "progress": False}
        swept = tc.sweep({**TINY, "seed": 100}, store=f"{folder}/store", dataset=f"{folder}/rows", seeds=jobs, **options)
        took = time.perf_counter() - began
        assert swept.computed == jobs, swept
    # Unlike getrusage's, this peak is not that of the process which started this one.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return {"seconds": took, "bytes": int(peak.split()[1]) * 1024, "busy": time.process_time() - busy}


def memory(sizes: list[int], workers: int, folder: Path) -> dict[str, Any]:
    """The client's memory for each number of jobs, and what a job costs beside its simulation."""
    cluster = Cluster(workers, folder)
    try:
        with Client(cluster.address, timeout=60) as client:
            client.wait_for_workers(workers, timeout=120)

        def measured(jobs: int, in_flight: int) -> dict[str, float]:
            asked = [sys.executable, __file__, "--client", cluster.address, str(jobs), str(in_flight)]
            return json.loads(subprocess.check_output(asked))

        sizes_told: dict[int, dict[str, float]] = {}
        for jobs in sizes:
            scheduler = psutil.Process(cluster.processes[0].pid)
            before = sum(scheduler.cpu_times()[:2])
            sizes_told[jobs] = measured(jobs, 64) | {"scheduler": sum(scheduler.cpu_times()[:2]) - before}
        one = measured(min(sizes), 1)
    finally:
        cluster.close()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as store:
        tc.sweep(TINY, store=store, seeds=min(sizes), in_flight=1, progress=False)
    alone = (time.perf_counter() - began) / min(sizes)
    most = max(sizes)
    return {
        "client's memory in MiB": {jobs: round(one["bytes"] / 2**20, 1) for jobs, one in sizes_told.items()},
        "one job, dispatch to result, in ms": round(1e3 * one["seconds"] / min(sizes), 2),
        "the same without a cluster, in ms": round(1e3 * alone, 2),
        "jobs a second, 64 in flight": round(most / sizes_told[most]["seconds"]),
        "the scheduler's CPU a job, in ms": round(1e3 * sizes_told[most]["scheduler"] / most, 2),
        "the client's CPU a job, in ms": round(1e3 * sizes_told[most]["busy"] / most, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000, help="of the sweep; 0 for none")
    parser.add_argument("--volumes", type=int, default=100)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--memory", default="100,10000", help="numbers of jobs; empty for none")
    parser.add_argument("--client", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if args.client:
        address, jobs, in_flight = args.client
        print(json.dumps(client_of(address, int(jobs), int(in_flight))))
        return
    told: dict[str, Any] = {}
    if args.jobs:
        with tempfile.TemporaryDirectory(prefix="thermocline-") as folder:
            told["sweep"] = sweep(args.jobs, args.volumes, args.workers, Path(folder))
    if args.memory:
        with tempfile.TemporaryDirectory(prefix="thermocline-") as folder:
            told["a job"] = memory([int(size) for size in args.memory.split(",")], args.workers, Path(folder))
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
