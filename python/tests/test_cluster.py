"""Sweeps and fleets on executors. `THERMOCLINE` names the command line, whose figures must be the same."""

import ctypes
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import loky
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import thermocline as tc

ROOT = Path(__file__).parents[2]
CORPUS = str(ROOT / "corpus/sqlite-ext4.tct")
COMMAND = os.environ.get("THERMOCLINE")
needs_command = pytest.mark.skipif(COMMAND is None, reason="THERMOCLINE names no binary")
DEVICE = {"ops": "-trim", "clock": "device", "limit": 20_000}


def processes():
    return ProcessPoolExecutor(2)


@pytest.fixture(scope="module")
def memory():
    return tc.trace.generate("hot-cold:90/10", span="4MiB", bytes="8MiB")


def test_a_cluster_may_lose_a_worker_and_its_scheduler():
    # The script fails if anything was computed twice, is missing, or is not the local figure.
    command = [sys.executable, ROOT / "python/cluster.py", "--jobs=30", "--volumes=3", "--workers=2", "--memory="]
    told = json.loads(subprocess.check_output(command, timeout=900))["sweep"]
    noted, unnoted = told["simulations computed"], told["kept by a worker that ended before it noted so"]
    assert noted + unnoted == told["jobs"] == 30 and len(told["accidents"]) == 2


@needs_command
def test_a_sweep_is_that_of_the_command_line(tmp_path):
    grid = {"trace": CORPUS, "policy": ["greedy", "cat(tau=1s)", "gredy"], "over_provisioning": "7%..15%/8%", **DEVICE}
    swept = tc.sweep({**grid, "policy": grid["policy"][:2]}, store=tmp_path / "store", executor=processes, progress=False)
    words = ["--policy=greedy,cat(tau=1s)", "--over-provisioning=7%..15%/8%", "--ops=-trim", "--clock=device", "--limit=20000"]
    asked = [COMMAND, "sweep", f"--trace={CORPUS}", *words, f"--store={tmp_path / 'store'}", "--format=parquet"]
    ran = subprocess.run([*asked, f"--output={tmp_path / 'cli.parquet'}"], capture_output=True, text=True, check=True)
    assert "computed" not in ran.stderr or "0 computed" in ran.stderr
    assert len(list((tmp_path / "store").glob("*.json"))) == 4
    assert pa.table(swept).equals(pq.read_table(tmp_path / "cli.parquet"))
    assert tc.sweep(grid, store=tmp_path / "store", progress=False).computed == 0


def test_results_stream_into_a_data_set_once(tmp_path):
    grid = {"workload": "uniform", "policy": ["greedy", "gredy", "cat"], "capacity": "16MiB", "bytes": "4MiB"}
    places = {"store": tmp_path / "store", "dataset": tmp_path / "rows", "progress": False}
    for seeds in (2, 3, 3):
        swept = tc.sweep(grid, seeds=seeds, **places)
    assert (len(swept), swept.computed, len(swept.failures)) == (9, 0, 3)
    rows = ds.dataset(tmp_path / "rows").to_table()
    assert rows.num_rows == 9 and len(set(rows["digest"].to_pylist())) == 7
    table = swept.to_arrow()
    keys = [(name, "ascending") for name in table.column_names if name.startswith("asked.")]
    assert rows.drop_columns(["digest"]).sort_by(keys).equals(table.sort_by(keys))
    assert "gredy" in swept._repr_html_() and swept.failures[0][0] == "policy gredy, seed 1"


def test_traces_go_to_workers_by_address_and_from_memory(tmp_path, monkeypatch, memory):
    monkeypatch.setenv("THERMOCLINE_CACHE", str(tmp_path / "cache"))
    traces = [Path(CORPUS).as_uri(), CORPUS, memory]
    grid = {"trace": traces, "policy": "greedy", "limit": 20_000}
    executors = [processes, loky.get_reusable_executor(2), ThreadPoolExecutor(2)]
    tables = []
    for at, executor in enumerate(executors):
        swept = tc.sweep({**grid, "trace": [*traces[:2], tc.trace.open(memory, name="m")]}, store=tmp_path / f"{at}", executor=executor)
        assert not swept.failures and swept.computed == 2, "equal contents are one simulation"
        tables.append(swept.to_arrow())
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])
    assert [path.name for path in (tmp_path / "cache").rglob("*.tct")] == ["sqlite-ext4.tct"]
    assert tc.run(traces[0], "greedy", limit=20_000).write_amplification == tables[0]["write_amplification"][0].as_py()


class Lightest(tc.Victim):
    """Greedy, as a class of a module."""

    version = "1"

    def score(self, blocks, now):
        return blocks.valid


def figures(swept):
    """The table but for `memory`: what the interpreter allocates beside a policy differs by some bytes."""
    table = swept.to_arrow()
    return table.select([name for name in table.column_names if not name.startswith("memory")])


def test_policies_of_ones_own_go_to_workers(tmp_path, memory):
    class Broken(tc.Victim):
        version = "1"

        def score(self, blocks, now):
            return blocks.valid // 0 if now < 0 else 1 // 0

    class Young(Lightest):
        """Known to this function alone: only pickles by value reach a worker."""

        def score(self, blocks, now):
            return blocks.valid + blocks.stamps / (now + 1)

    both = tc.Policy("both", victim=Lightest(), placement="sep-gc")
    grid = {"trace": tc.trace.open(memory, name="m"), "policy": ["greedy", Lightest(), both], "over_provisioning": "15%"}
    here = tc.sweep(grid, store=tmp_path / "here", progress=False)
    there = tc.sweep(grid, store=tmp_path / "there", executor=processes, progress=False)
    assert (there.computed, there.failures, figures(there).equals(figures(here))) == (3, [], True)
    amplification = here.to_arrow()["write_amplification"].to_pylist()
    assert amplification[0] == amplification[1] != amplification[2]

    executor = loky.get_reusable_executor(2)
    mixed = {**grid, "policy": [Young(), Broken(), "greedy"]}
    there = tc.sweep(mixed, store=tmp_path / "there", executor=executor, progress=False)
    ((_, why),) = there.failures
    # Some versions of cloudpickle keep the file of a function, some do not; its line is known with all.
    line = Broken.score.__code__.co_firstlineno + 1
    wanted = rf"ZeroDivisionError: .*\((.*test_cluster\.py, line {line}|line {line} of score)\)"
    assert there.computed == 1 and re.search(wanted, why), why
    alone = tc.run(memory, Young(), over_provisioning="15%", progress=False).write_amplification
    assert there.to_arrow()["write_amplification"][0].as_py() == alone


def test_a_fleet_has_policies_of_ones_own(tmp_path, memory):
    class Unversioned(tc.Victim):
        def score(self, blocks, now):
            return blocks.valid

    here = tc.fleet(memory, ["greedy", Lightest()], progress=False)
    there = tc.fleet(memory, ["greedy", Lightest()], executor=processes, store=tmp_path / "store", progress=False)
    assert list(here.summaries) == list(there.summaries) and not there.failures
    with pytest.raises(tc.UsageError, match="has no version"):
        tc.fleet(memory, [Unversioned()], store=tmp_path / "store", progress=False)


def test_functions_of_this_process_stay_here(tmp_path, memory):
    function = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)
    mine = tc.NativeVictim("mine", choose=function, version="1")
    with pytest.raises(tc.UsageError, match=r"NativeVictim\.load"):
        tc.sweep({"trace": tc.trace.open(memory, name="m"), "policy": mine}, store=tmp_path, executor=processes, progress=False)


def die_once(path):
    """A cell whose worker dies the first time."""
    if not os.path.exists(path):
        open(path, "w").close()
        os.kill(os.getpid(), 9)


class Deadly(ProcessPoolExecutor):
    """Its first worker dies under its first call."""

    path = ""

    def submit(self, fn, /, *args, **kwargs):
        if not os.path.exists(self.path):
            return super().submit(die_once, self.path)
        return super().submit(fn, *args, **kwargs)


def test_cells_of_a_worker_that_died_run_again(tmp_path):
    Deadly.path = str(tmp_path / "died")
    grid = {"workload": "uniform", "policy": ["greedy", "fifo"], "capacity": "16MiB", "bytes": "4MiB"}
    swept = tc.sweep(grid, store=tmp_path / "store", executor=lambda: Deadly(1), progress=False)
    assert (swept.computed, swept.failures) == (2, [])
    os.remove(Deadly.path)
    with pytest.raises(tc.FailedError, match="a function that makes an executor"):
        tc.sweep({**grid, "seed": 5}, store=tmp_path / "store", executor=Deadly(1), progress=False)


@needs_command
def test_a_fleet_is_that_of_the_command_line(tmp_path, memory):
    paths = []
    for number in range(5):
        columns = {**memory, "offset": memory["offset"] // np.uint64(number + 1) // np.uint64(4096) * np.uint64(4096)}
        paths.append(str(tmp_path / f"{number}.parquet"))
        pq.write_table(pa.table(columns), paths[-1])
    policies = ["greedy", "dac"]
    asked = [COMMAND, "compare", *(f"--trace={path}" for path in paths), "--per-volume", "--min-volume=0", "--policies=greedy,dac", "--json"]
    theirs = json.loads(subprocess.check_output([*asked, "--no-progress"]))
    here = tc.fleet(paths, policies, progress=False)
    rows = tmp_path / "rows"
    there = tc.fleet(paths, policies, executor=processes, partitions=3, dataset=rows, store=tmp_path / "s", progress=False)
    sharded = tc.fleet(paths[:1], policies, executor=processes, partitions=2, progress=False)
    assert list(here.summaries) == list(there.summaries) == theirs["fleet"]
    assert (len(here.rows()), len(sharded.rows()), here.to_arrow().equals(there.to_arrow())) == (10, 2, True)
    assert "best_share" in here._repr_html_() and here.failed == 0
    broken = tc.fleet([paths[0], "no/such.csv"], policies, executor=processes, partitions=2, progress=False)
    assert [traces for traces, _ in broken.failures] == ["no/such.csv"] and broken.summaries[0]["volumes"] == 1
