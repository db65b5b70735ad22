"""Traces and data sets in an object store: a real server of S3's protocol (moto) on this machine."""

import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import fsspec
import pyarrow.dataset
import pytest
from moto.server import ThreadedMotoServer

import thermocline as tc

CORPUS = Path(__file__).parents[2] / "corpus/sqlite-ext4.tct"
QUICK = {"limit": 5_000, "clock": "device", "progress": False}


@pytest.fixture(scope="module")
def options():
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {"key": "k", "secret": "s", "client_kwargs": {"endpoint_url": f"http://{host}:{port}"}}
    server.stop()


@pytest.fixture(scope="module")
def bucket(options):
    system = fsspec.filesystem("s3", **options)
    system.mkdir("traces")
    system.put(str(CORPUS), "traces/sqlite.tct")
    return system


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("THERMOCLINE_CACHE", str(tmp_path / "cache"))


def rows_at(bucket, folder):
    bucket.invalidate_cache()
    return pyarrow.dataset.dataset(folder, filesystem=bucket, format="parquet").to_table()


def test_what_run_reads_everything_reads(bucket, options, tmp_path):
    url, there = "s3://traces/sqlite.tct", {"storage_options": options}
    result = tc.run(url, "greedy", **QUICK, **there)
    assert result == tc.run(CORPUS, "greedy", **QUICK)
    told, ours = tc.trace.info(url, limit=5_000, **there), tc.trace.info(CORPUS, limit=5_000)
    assert {**told, "path": ""} == {**ours, "path": ""}
    assert tc.trace.read(url, limit=99, **there).to_arrow().num_rows == 99
    assert tc.trace.convert(url, tmp_path / "a.parquet", limit=99, **there) == 99
    assert tc.lives(url, limit=99, **there).to_arrow().num_rows
    assert tc.compare(url, ["greedy"], no_oracle=True, **QUICK, **there).results[0] == result
    assert "secret" not in "".join(path.read_text() for path in (tmp_path / "cache/addresses").iterdir())


def test_a_server_that_is_not_there_is_no_missing_object():
    with pytest.raises(tc.InputError, match="cannot be reached"):
        tc.run("http://127.0.0.1:1/a.csv", "greedy")


def test_a_missing_object_is_one_failed_cell(bucket, options, tmp_path):
    traces = ["s3://traces/sqlite.tct", "s3://traces/no-such.tct", "s3://nowhere/a.tct"]
    swept = tc.sweep(
        {"trace": traces, "policy": ["greedy"], "limit": 5_000, "clock": "device"}, store=tmp_path / "s", dataset="s3://traces/rows",
        storage_options=options, executor=lambda: ProcessPoolExecutor(1), progress=False,
    )
    assert (swept.computed, len(swept.failures)) == (1, 2)
    assert "s3://traces/no-such.tct: there is no such object" in swept.failures[0][1]
    rows = rows_at(bucket, "traces/rows")
    assert sorted(map(bool, rows["error"].to_pylist())) == [False, True, True] and "k" not in rows.column_names
    fleet = tc.fleet(traces[:2], ["greedy"], partitions=2, storage_options=options, dataset="s3://traces/fleet", **QUICK)
    assert len(fleet.failures) == 1 and "no such object" in fleet.failures[0][1] and len(fleet.rows()) == 1
    with pytest.raises(tc.InputError, match="there is no such object"):
        tc.run(traces[1], "greedy", storage_options=options)
    with pytest.raises(tc.UsageError, match="storage_options= is what fsspec takes"):
        tc.run(traces[0], "greedy", storage_options={"nonsense": 1})


CLIENT = """
import json, sys, thermocline as tc
options, store = json.loads(sys.argv[1]), sys.argv[2]
grid = {"workload": "uniform", "policy": ["greedy", "fifo"], "capacity": "16MiB", "bytes": "64MiB", "over_provisioning": "10%..40%/2%"}
print("ready", flush=True), input()
swept = tc.sweep(grid, store=store, dataset="s3://traces/both", storage_options=options, progress=False)
print(len(swept), swept.computed, len(swept.failures))
"""


def test_two_clients_compute_each_cell_once_and_write_no_row_twice(bucket, options, tmp_path):
    command = [sys.executable, "-c", CLIENT, json.dumps(options), str(tmp_path / "store")]
    clients = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [client.stdout.readline() for client in clients] == ["ready\n"] * 2
    for client in clients:
        client.stdin.write("\n")
        client.stdin.flush()
    told = [tuple(map(int, client.communicate(timeout=300)[0].split())) for client in clients]
    assert [(cells, failed) for cells, _, failed in told] == [(32, 0), (32, 0)]
    assert sum(computed for _, computed, _ in told) == 32
    rows = rows_at(bucket, "traces/both")
    assert rows.num_rows == 32 == len(set(rows["digest"].to_pylist()))
