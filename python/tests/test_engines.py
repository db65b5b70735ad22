"""What runs jobs elsewhere is taken as it is, and gives the table of a thread a core."""

import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import numpy as np
import polars
import pyarrow.dataset
import pyarrow.parquet
import pytest
import submitit

import thermocline as tc
from thermocline._places import alone

GRID = {"workload": "uniform", "policy": ["greedy", "fifo", "greddy"], "capacity": "16MiB", "bytes": "4MiB"}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return tc.sweep(GRID, store=tmp_path_factory.mktemp("here"), progress=False).rows()


def swept(store, executor):
    whole = tc.sweep(GRID, store=store, executor=executor, progress=False)
    again = tc.sweep(GRID, store=store, executor=executor, progress=False)
    assert (whole.computed, again.computed, len(whole.failures)) == (2, 0, 1)
    rows = whole.rows()
    assert rows == again.rows()
    return [{key: value for key, value in row.items() if not key.startswith("perf")} for row in rows]


def without_perf(rows):
    return [{key: value for key, value in row.items() if not key.startswith("perf")} for row in rows]


def test_a_pool_of_multiprocessing(tmp_path, expected):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert swept(tmp_path, pool) == without_perf(expected)


def test_joblib(tmp_path, expected):
    assert swept(tmp_path, joblib.Parallel(n_jobs=2)) == without_perf(expected)


def test_submitit(tmp_path, expected):
    executor = submitit.LocalExecutor(tmp_path / "jobs")
    executor.update_parameters(timeout_min=5)
    assert swept(tmp_path / "store", executor) == without_perf(expected)


def take(folder):
    with alone(folder, "a"):
        pass


def test_a_process_forked_beside_a_lock_does_not_hold_it(tmp_path):
    with alone(tmp_path, "a"):
        child = multiprocessing.get_context("fork").Process(target=take, args=(tmp_path,))
        child.start()
    child.join(60)
    waits = child.is_alive()
    child.kill()
    assert not waits


def test_all_at_once_on_one_store_compute_each_cell_once(tmp_path):
    slurm = submitit.LocalExecutor(tmp_path / "jobs")
    slurm.update_parameters(timeout_min=5)
    with multiprocessing.get_context("spawn").Pool(1) as pool, ProcessPoolExecutor(1) as processes:
        engines = [None, processes, pool, joblib.Parallel(n_jobs=1), slurm]

        def sweep(engine):
            places = {"store": tmp_path / "store", "dataset": tmp_path / "rows"}
            return tc.sweep(GRID, executor=engine, seeds=4, progress=False, **places)

        with ThreadPoolExecutor(len(engines)) as threads:
            all_ = list(threads.map(sweep, engines))
    assert sum(one.computed for one in all_) == 8 and {len(one.failures) for one in all_} == {4}
    assert all(one == all_[0] and one.rows() == all_[0].rows() for one in all_)
    assert [path.name for path in (tmp_path / "store/.locks").iterdir()] == ["dataset"]
    rows = pyarrow.dataset.dataset(tmp_path / "rows").to_table()
    assert rows.num_rows - sum(map(bool, rows["error"].to_pylist())) == 8 == len(set(rows["digest"].to_pylist()) - {""})


def test_numbers_of_a_grid_are_numbers(tmp_path):
    grid = {**GRID, "policy": "greedy", "over_provisioning": [0.1, np.float64(0.2)], "seed": range(2), "banks": [1, "2"]}
    swept = tc.sweep(grid, store=tmp_path, progress=False)
    assert {row["asked.over-provisioning"] for row in swept.rows()} == {0.1, 0.2}
    table = swept.to_arrow()
    assert sorted(set(table["asked.seed"].to_pylist())) == [0, 1] and set(table["asked.banks"].to_pylist()) == {"1", "2"}
    assert pickle.loads(pickle.dumps(swept)).rows() == swept.rows()


def test_an_address_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (lambda: tc.sweep(GRID, store="s3://bucket/results"), lambda: tc.fleet("a.tct", store="s3://bucket/results")):
        with pytest.raises(tc.UsageError, match="a store is a folder"):
            call()
    assert not list(tmp_path.iterdir())


def test_the_package_is_a_command(tmp_path):
    def run(*words):
        return subprocess.run([sys.executable, "-m", "thermocline", *words], capture_output=True, text=True)

    asked = ["--workload", "uniform", "--capacity=16MiB", "--bytes", "4MiB", "--policy", "greedy"]
    plain = tc.run(workload="uniform", capacity="16MiB", bytes="4MiB", policy="greedy", progress=False)
    ran = run("run", *asked, "--check")
    assert ran.returncode == 0 and f'"write_amplification": {plain.write_amplification}' in ran.stdout
    assert run("run", *asked, "--polcy", "dac").returncode == 2 and run("info", "no/such/file").returncode == 3
    assert run("convert", "no/such/file", str(tmp_path / "a.parquet")).stderr.startswith("error: no/such/file")


def test_a_search_is_that_of_the_command_line(tmp_path):
    grid = {"workload": "uniform", "capacity": "16MiB", "bytes": "8MiB", "policy": ["greedy", "fifo"], "over_provisioning": "10%..60%"}
    found = tc.sweep(grid, until="write_amplification<=1.7", tolerance="5%", store=tmp_path, progress=False)
    assert found.complete and set(found.found) == {"policy greedy", "policy fifo"} and found.computed == len(found.tried)
    assert all(sentence.startswith("policy ") and "tolerance 5%" in sentence for sentence in found.sentences)
    for policy in ("greedy", "fifo"):
        figures = {row["asked.over-provisioning"]: row["write_amplification"] for row in found.rows() if row["asked.policy"] == policy}
        edge = found.found[f"policy {policy}"]
        below = f"{int(edge[:-1]) - 5}%"
        assert figures[edge] <= 1.7 < figures[below] and len(figures) < 11
    again = tc.sweep(grid, until="write_amplification<=1.7", tolerance="5%", store=tmp_path, progress=False)
    assert again.computed == 0 and again.rows() == found.rows()
    with pytest.raises(tc.UsageError, match="until: `good` is no condition"):
        tc.sweep(grid, until="good", store=tmp_path)
    with pytest.raises(tc.UsageError, match="leave executor=, dataset= and history= out"):
        tc.sweep(grid, until="write_amplification<=1.5", store=tmp_path, dataset=tmp_path / "rows")


def test_a_data_set_whose_grid_gains_an_axis_stays_one_table(tmp_path):
    rows = tmp_path / "rows"
    kept = {"store": tmp_path / "store", "dataset": rows, "progress": False}
    tc.sweep(GRID, **kept)
    tc.sweep({**GRID, "over_provisioning": ["10%", "20%"]}, **kept)
    tc.sweep({**GRID, "policy": "cat"}, **kept)
    told = [set(pyarrow.parquet.read_schema(file).names) for file in rows.glob("*.parquet")]
    assert len(told) == 3
    assert told == [told[0]] * 3
    table = polars.read_parquet(rows)
    assert sorted(table.select("asked.policy", "asked.over-provisioning").rows(), key=str) == [
        ("cat", None), ("fifo", "10%"), ("fifo", "20%"), ("fifo", None), ("greedy", "10%"), ("greedy", "20%"), ("greedy", None)
    ]
    assert pyarrow.dataset.dataset(rows).to_table().num_rows == 7
