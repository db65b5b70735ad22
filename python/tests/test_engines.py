"""What runs jobs elsewhere is taken as it is, and gives the table of a thread a core."""

import multiprocessing
import subprocess
import sys

import joblib
import pytest
import submitit

import thermocline as tc

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
