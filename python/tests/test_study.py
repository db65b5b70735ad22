"""Tuning, papers, pictures, tables, notebooks: what is built on runs."""

import importlib.util
import os
import pathlib
import signal
import sys
import threading
import time

import duckdb
import matplotlib
import nbformat
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import thermocline as tc

matplotlib.use("agg")
ROOT = pathlib.Path(__file__).parents[2]
CORPUS = str(ROOT / "corpus/sqlite-ext4.tct")
HOT = {"workload": "hot-cold:90/10", "capacity": "16MiB", "bytes": "32MiB", "progress": False}


@pytest.fixture(scope="module")
def tuned():
    columns = tc.trace.generate("hot-cold:90/10", span="8MiB", bytes="48MiB")
    return tc.tune(columns, ["greedy", "dac"], budget=16, over_provisioning="7%..28%/7%", price=2, progress=False, seed=3)


def test_a_search_is_confirmed_on_the_rest(tuned):
    first, rest = tuned.data["requests"]
    assert abs(first / (first + rest) - 0.6) < 0.01
    assert tuned.best["confirmed"]["write_amplification"] > 1 and abs(tuned.distance) < 0.5
    assert {"over_provisioning"} <= set(tuned.settings) and tuned.front and len(tuned.trials) >= 16
    # Optuna was told of every candidate, those that it did not propose too.
    told = [trial for trial in tuned.study.trials if trial.value is not None]
    assert len(told) >= 16 and tuned.study.best_value <= min(trial.value for trial in told)
    assert "Pareto" in tuned._repr_html_() and tuned.policy in tuned.best["command"].replace("'", "")


def test_a_search_says_what_is_wrong():
    with pytest.raises(tc.UsageError, match="budget=1 is fewer"):
        tc.tune(workload="uniform", policies=["greedy", "cat"], budget=1)
    with pytest.raises(tc.UsageError, match="of `seed`|no .*`nothing`|nothing"):
        tc.tune(workload="uniform", aim="nothing")

    class Broken:
        def ask(self):
            raise ZeroDivisionError("the study's own")

        add_trial = tell = lambda *_, **__: None

    with pytest.raises(ZeroDivisionError, match="the study's own"):
        tc.tune(workload="uniform", policies=["greedy"], capacity="8MiB", bytes="4MiB", budget=4, study=Broken())


def test_figures_are_pdf_with_letters(tmp_path, tuned):
    result = tc.run(policy="dac", history=True, **HOT)
    compared = tc.compare(policies=["greedy", "dac"], no_oracle=True, **HOT)
    swept = tc.sweep({**HOT, "progress": None, "policy": ["greedy", "dac"], "over_provisioning": "15%,25%"}, store=tmp_path / "s", seeds=2)
    fleet = tc.fleet(CORPUS, ["greedy"], limit=20_000, progress=False)
    draw = {
        "result": result.plot,
        "compared": compared.plot,
        "swept": lambda file: swept.plot("over_provisioning", hue="policy", file=file),
        "fleet": fleet.plot,
        "tuned": tuned.plot,
    }
    for name, plot in draw.items():
        path = tmp_path / f"{name}.pdf"
        axes = plot(file=path)
        written = path.read_bytes()
        assert written.startswith(b"%PDF") and b"/Type3" not in written and b"CreationDate" not in written, name
        assert axes.get_ylabel() or axes.get_xlabel()
        matplotlib.pyplot.close("all")
    charts = [result.chart(), compared.chart(), swept.chart("over_provisioning", hue="policy")]
    drawn = [chart.to_dict() for chart in charts]
    assert [len(chart["data"]["values"]) for chart in drawn] == [len(result.history.host_writes) - 1, len(compared.results), len(swept)]
    assert drawn[2]["encoding"]["y"]["title"] == "write amplification" and drawn[2]["encoding"]["x"]["type"] == "quantitative"
    plot(file=path)
    assert path.read_bytes() == written, "a figure is the same file each time"
    axes = swept.plot("over-provisioning", hue="policy")
    assert [line.get_xdata().tolist() for line in axes.lines] == [[0.15, 0.25]] * 2
    assert axes.lines[0].get_color() == "#0072B2"
    with pytest.raises(ValueError, match="history=True"):
        tc.run(policy="dac", **HOT).plot()


def test_tables_go_to_every_engine(tmp_path):
    swept = tc.sweep({**HOT, "progress": None, "policy": ["greedy", "dac"]}, store=tmp_path)
    frame = polars.DataFrame(swept)
    assert frame["asked.policy"].to_list() == ["greedy", "dac"]
    table = pa.table(swept)
    assert table.to_pandas()["write_amplification"].tolist() == frame["write_amplification"].to_list()
    assert duckdb.sql('select max("flash.blocks_erased") > 0 from "table"').fetchall() == [(True,)]
    columns = tc.trace.generate("uniform", span="2MiB", bytes="4MiB")
    words = [["read", "write", "trim", "flush"][op] for op in columns["op"]]
    expected = tc.run(columns, "greedy", progress=False).write_amplification
    for trace in (polars.DataFrame(columns), pandas.DataFrame(columns), pa.table({**columns, "op": words})):
        assert tc.run(trace, "greedy", progress=False).write_amplification == expected


def test_a_paper_and_generated_traces():
    told = tc.reproduce("striping", quick=True)
    assert told["papers"][0]["name"] == "striping" and told["papers"][0]["experiments"]
    one, other = (tc.trace.generate("zipf:0.9", span="1MiB", bytes="2MiB", seed=seed) for seed in (1, 2))
    assert one["length"].sum() == 2 << 20 and not np.array_equal(one["offset"], other["offset"])
    assert (one["offset"] + one["length"]).max() <= 1 << 20
    with pytest.raises(tc.UsageError):
        tc.trace.generate("nothing")


def test_progress_is_told_and_drawn(capsys):
    told = []
    tc.compare(policies=["greedy", "dac"], **{**HOT, "progress": lambda *one: told.append(one)})
    assert {one[0] for one in told} <= {"progress", "info", "note", "warning", "failure"}
    tc.compare(policies=["greedy", "dac"], **{**HOT, "progress": True, "bytes": "4GiB"})
    assert capsys.readouterr().err


def test_ctrl_c_stops_a_sweep(tmp_path):
    # A shell starts what it runs in the background with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    grid = {"workload": "uniform", "policy": "greedy", "capacity": "16MiB", "bytes": "64MiB"}

    def interrupt():
        while not list(tmp_path.glob("*.json")):
            time.sleep(0.05)
        os.kill(os.getpid(), 2)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        tc.sweep(grid, store=tmp_path, seeds=1000, progress=False)
    assert 0 < len(list(tmp_path.glob("*.json"))) < 1000 and not list(tmp_path.glob(".shared-*"))


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "docs/notebooks").glob("*.ipynb")))
def test_notebooks_show_what_is_stored_in_them(name, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "python"), *sys.path]))
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "python/notebooks.py")
    notebooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebooks)

    def told(book):
        """What is ours in its outputs: pictures, and what other packages print, differ by their versions."""
        outputs = [output.get("data", {}) for cell in book.cells for output in cell.get("outputs", [])]
        return [data.get("text/html", data.get("text/plain")) for data in outputs if not data.get("text/plain", "<").startswith("<")]

    kept = told(nbformat.read(notebooks.BOOKS / name, 4))
    assert kept and told(notebooks.stored(notebooks.BOOKS / name)) == kept, "run python/notebooks.py"
