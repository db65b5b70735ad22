"""The package as users see it. `THERMOCLINE` names the command line, whose results must be the same."""

import copy
import importlib.util
import itertools
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import types
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import thermocline as tc
from thermocline import _work

SMALL = {"capacity": "32MiB", "progress": False}
HOT = {"workload": "hot-cold:90/10", **SMALL}


def writes(n=20_000, pages=4_000):
    rng = np.random.default_rng(1)
    return {
        "time": np.arange(n, dtype=np.uint64) * 1000,
        "op": np.ones(n, np.uint8),
        "offset": rng.integers(0, pages, n).astype(np.uint64) * 4096,
        "length": np.full(n, 4096, np.uint64),
    }


def test_import_is_quick():
    code = "import time; t = time.process_time(); import thermocline; print(time.process_time() - t)"
    took = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
    assert took < 0.1, f"{took:.3f} s"


def test_the_file_for_checkers_has_every_public_name():
    text = (pathlib.Path(__file__).parent / "typed.py").read_text()
    assert [name for name in tc.__all__ if f"tc.{name}" not in text and name not in ("policy", "results")] == []


def test_the_recipe_for_conda_is_of_this_version():
    assert f'version: "{tc.__version__}"' in (pathlib.Path(__file__).parents[2] / "contrib/conda/recipe.yaml").read_text()


def test_typed_settings_are_those_of_the_spec():
    path = pathlib.Path(__file__).parents[1] / "settings.py"
    spec = importlib.util.spec_from_file_location("settings", path)
    written = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(written)
    assert written.FILE.read_text() == written.written(), "run python/settings.py"
    assert written.POLICIES.read_text() == written.policies(), "run python/settings.py"


def test_policies_are_objects_with_parameters(tmp_path):
    cat = tc.policies.Cat(tau="1h", mean="all", victim=tc.policies.victim.DChoices(d=3))
    assert cat == "cat(tau=1h, mean=all, victim=d-choices(d=3))" and tc.policies.Greedy() == "greedy"
    assert tc.policies.placement.Envy(pull=True, ranges=np.bool_(False)) == "envy(pull=yes, ranges=no)"
    assert pickle.loads(pickle.dumps(cat)) == copy.deepcopy(cat) == cat
    assert tc.run(policy=cat, **HOT) == tc.run(policy=str(cat), **HOT)
    grid = {"workload": "uniform", "capacity": "16MiB", "bytes": "4MiB", "policy": [cat, tc.policies.SepBit(classes=4)]}
    swept = tc.sweep(grid, store=tmp_path, progress=False)
    assert not swept.failures and [row["asked.policy"] for row in swept.rows()] == [str(cat), "sep-bit(classes=4)"]
    placed = tc.policies.placement.Dac(regions=3)
    assert [one.policy for one in tc.compare(policies=[cat, tc.Policy("mine", placement=placed)], no_oracle=True, **HOT).results] == [cat, "mine"]
    with pytest.raises(TypeError, match="taw"):
        tc.policies.Cat(taw="1h")
    with pytest.raises(tc.UsageError, match="tau=soon.: expected a time"):
        tc.run(policy=tc.policies.Cat(tau="soon"), **HOT)
    # All of them are what the command line takes.
    for kind in (tc.policies, tc.policies.victim, tc.policies.placement, tc.policies.idle, tc.policies.dead_data):
        made = [one() for name, one in vars(kind if isinstance(kind, type) else type(kind)).items() if name[0].isupper()]
        names = {entry["name"] for entry in tc.policies()}
        assert made and set(made) <= names


def test_errors_have_kinds_and_remedies():
    with pytest.raises(tc.UsageError, match="did you mean `greedy`"):
        tc.run(policy="gredy", **HOT)
    with pytest.raises(tc.UsageError, match="did you mean over_provisioning=[?]"):
        tc.run(over_provisionin=1, **HOT)
    with pytest.raises(tc.InputError, match="there is no such file"):
        tc.run("no/such/file", progress=False)


@pytest.mark.skipif("THERMOCLINE" not in os.environ, reason="THERMOCLINE names no binary")
@pytest.mark.parametrize("policy", [p["name"] for p in tc.policies() if p["axis"] == "preset"])
def test_results_are_those_of_the_command_line(policy):
    asked = ["--workload=hot-cold:90/10", "--capacity=16MiB", "--bytes=8MiB", f"--policy={policy}"]
    command = [os.environ["THERMOCLINE"], "run", *asked, "--json", "--no-progress"]
    ran = subprocess.run(command, capture_output=True, text=True)
    ask = lambda: tc.run(policy=policy, workload="hot-cold:90/10", capacity="16MiB", bytes="8MiB", progress=False)
    if ran.returncode:
        with pytest.raises(tc.ThermoclineError):
            ask()
        return
    theirs, ours = json.loads(ran.stdout), ask().data
    theirs.pop("perf"), ours.pop("perf", None)
    assert ours == theirs


def test_arrays_tables_and_files_are_one_trace(tmp_path):
    columns = writes()
    table = pa.table({**columns, "op": ["write"] * len(columns["op"])})
    path = tmp_path / "trace.csv"
    with path.open("w") as file:
        file.writelines(f"{t},W,{o},{n}\n" for t, o, n in zip(columns["time"], columns["offset"], columns["length"]))
    layout = "time=1:ns,op=2:W/R,offset=3:bytes,size=4:bytes"
    strided = {name: np.repeat(column, 2)[::2] for name, column in columns.items()}
    signed = {**columns, "offset": columns["offset"].astype(np.int64)}
    ran = [tc.run(tc.trace.open(one, name="x"), "dac", progress=False) for one in (columns, strided, signed, table)]
    ran.append(tc.run(path, "dac", columns=layout, progress=False))
    assert len({r.write_amplification for r in ran}) == 1 and len({r.digest for r in ran[:4]}) == 1
    info = tc.trace.info(columns)
    assert (info["format"], info["writes"], info["bytes_written"]) == ("memory", 20_000, 20_000 * 4096)


def test_types_that_databases_write_are_read():
    columns = writes(2_000)
    expected = tc.run(columns, "greedy", progress=False).write_amplification
    sums = pa.array([int(at) for at in columns["offset"]]).cast(pa.decimal128(38, 0))
    for words in (pa.binary(), pa.large_binary(), pa.string_view()):
        table = pa.table({**columns, "offset": sums, "op": pa.array(["W"] * 2_000).cast(words)})
        assert tc.run(table, "greedy", progress=False).write_amplification == expected
    table = pa.table({**columns, "offset": pa.array([1.5] * 2_000).cast(pa.decimal128(9, 1))})
    with pytest.raises(tc.InputError, match="1.5.* is not of whole numbers"):
        tc.run(table, "greedy", progress=False)
    with pytest.raises(tc.UsageError, match="LazyFrame has no rows yet; give what its collect"):
        tc.run(polars.LazyFrame(columns), "greedy")


def volumes(n=4_000):
    columns = {name: column for name, column in writes(n, 500).items() if name != "op"}
    return {**columns, "volume": [f"v{at % 4}" for at in range(n)]}


FRAMES = pytest.mark.parametrize("frame", [dict, pa.table, polars.DataFrame, pandas.DataFrame])


@FRAMES
def test_volumes_of_a_table_in_memory_are_devices(tmp_path, frame):
    table = frame(volumes())
    with pytest.warns(tc.ThermoclineWarning, match="its 4 volumes are simulated as one device"):
        one = tc.run(table, "greedy", progress=False)
    with pytest.warns(tc.ThermoclineWarning, match="all are taken for writes"):
        fleet = tc.fleet(table, ["greedy"], progress=False)
    assert fleet.summaries[0]["volumes"] == 4 and fleet.summaries[0]["write_amplification"] < one.write_amplification
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table(volumes()), path)
    columns = "time=time:ns,all=write,offset=offset:bytes,size=length:bytes,volume=volume"
    assert tc.fleet(path, ["greedy"], columns=columns, progress=False).summaries[0]["median"] == fleet.summaries[0]["median"]
    with pytest.warns(tc.ThermoclineWarning, match="all are taken for writes"):
        assert tc.run(table, "greedy", volume="v1", progress=False)["trace.requests"] == 1000


@FRAMES
def test_a_table_in_memory_is_read_by_the_rules_of_files(frame):
    ours = writes(2_000)
    expected = tc.run(ours, "greedy", progress=False)
    sectors, micro = ours["offset"] // 512, ours["time"] // 1000
    named = {"timestamp_us": micro, "lba": sectors, "bytes": ours["length"], "op": ["W"] * 2_000}
    with pytest.warns(tc.ThermoclineWarning, match="timestamp_us:us,op=op,offset=lba:sectors"):
        assert tc.run(frame(named), "greedy", progress=False) == expected
    described = {"when": micro, "a": sectors, "b": ours["length"], "how": ["W"] * 2_000}
    columns = "time=when:us,op=how:W/R,offset=a:sectors,size=b:bytes"
    assert tc.run(frame(described), "greedy", columns=columns, progress=False) == expected
    typed = {"timestamp": micro.astype("datetime64[us]"), "offset": ours["offset"], "length": ours["length"], "op": ["write"] * 2_000}
    assert tc.run(frame(typed), "greedy", progress=False)["trace.arrivals_us"] == expected["trace.arrivals_us"]
    with pytest.warns(tc.ThermoclineWarning, match="passed over: colour"):
        assert tc.run(frame({**ours, "colour": sectors}), "greedy", progress=False) == expected
    with pytest.raises(tc.InputError, match="do not describe a trace"):
        tc.run(frame({"offset": ours["offset"], "colour": sectors}), "greedy", progress=False)


class Reader:
    """What readers of the package libcachesim have, and their requests."""

    def __init__(self, requests):
        self.requests = requests

    def __iter__(self):
        return iter(self.requests[self.at :])

    def reset(self):
        self.at = 0

    def read_one_req(self):
        raise NotImplementedError


def test_readers_of_libcachesim_are_traces():
    def request(clock_time, obj_id, obj_size, op):
        return types.SimpleNamespace(clock_time=clock_time, obj_id=obj_id, obj_size=obj_size, op=types.SimpleNamespace(name=op))

    reader = Reader([request(70 + n, 8 * n, 4096, op) for n, op in enumerate(["OP_WRITE", "OP_GET", "OP_READ", "OP_SET", "OP_DELETE"])])
    read = tc.trace.read(reader).to_numpy()
    assert read["time"].tolist() == [n * 10**9 for n in range(5)] and read["op"].tolist() == ["write", "read", "read", "write", "trim"]
    assert (read["offset"] == np.arange(5) * 4096).all() and set(read["length"]) == {4096}
    assert tc.run(reader, "greedy", progress=False)["trace.requests"] == 5
    reader.requests.append(request(80, 1, 1, "OP_NOP"))
    with pytest.raises(tc.InputError, match="request 6 of Reader has a key but no operation"):
        tc.run(reader, "greedy")
    reader.requests[-1] = request(80, 2**60, 1, "OP_SET")
    with pytest.raises(tc.InputError, match="object 1152921504606846976 is no number of a sector"):
        tc.run(reader, "greedy")


def test_words_of_few_kinds_are_looked_up_once_a_batch():
    # Every row made a list of all keys before: 80,000 rows took ten seconds.
    ours = writes(300_000, 500)
    words = pa.array(["write"] * 300_000).dictionary_encode()
    table = pa.table({**ours, "op": words})
    begun = time.process_time()
    assert tc.run(table, "greedy", progress=False) == tc.run(ours, "greedy", progress=False)
    assert time.process_time() - begun < 60


def test_notes_are_warnings_in_sweeps_and_fleets_too(tmp_path):
    spare = {"over_provisioning": 7, "progress": False}
    with pytest.warns(tc.ThermoclineWarning, match="is 700 %") as told:
        tc.run(writes(2_000), "greedy", **spare)
    assert told[0].filename == __file__
    with pytest.warns(tc.ThermoclineWarning, match="is 700 %"):
        tc.fleet(writes(2_000), ["greedy"], **spare)
    grid = {"workload": "uniform", "bytes": "8MiB", "capacity": "16MiB", "policy": "greedy", "over_provisioning": 7}
    for executor in (None, ProcessPoolExecutor(1)):
        with pytest.warns(tc.ThermoclineWarning, match="is 700 %"):
            tc.sweep(grid, store=tmp_path / str(executor), executor=executor, progress=False)


def test_what_comes_out_is_compared_copied_and_sent(tmp_path):
    trace = tc.trace.open(writes(2_000))
    result = tc.run(trace, "greedy", history=True, progress=False)
    path = tmp_path / "elsewhere.parquet"
    pyarrow.parquet.write_table(pa.table(writes(2_000)), path)
    columns = "time=time:ns,op=op:1/0,offset=offset:bytes,size=length:bytes"
    there = tc.run(path, "greedy", columns=columns, progress=False)
    assert result.digest == there.digest and result == there
    copy_of = tc.run(tc.trace.open(writes(2_000), name="other"), "greedy", progress=False)
    assert copy_of == result and copy_of.digest == result.digest and hash(copy_of) == hash(result)
    compared = tc.compare(trace, ["greedy", "dac"], progress=False, no_oracle=True)
    swept = tc.sweep({"trace": trace, "policy": ["greedy", "gredy"]}, store=tmp_path / "s", progress=False)
    fleet = tc.fleet(trace, ["greedy"], progress=False)
    for one in (result, result.history, compared, swept, fleet):
        for same in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert same == one, one
    assert pickle.loads(pickle.dumps(swept)).rows() == swept.rows()
    assert tc.run(trace, "dac", progress=False) != result and swept != tc.sweep({"trace": trace, "policy": "dac"}, store=tmp_path / "s")


@pytest.mark.parametrize("frame", [dict, pa.table, pandas.DataFrame, polars.DataFrame])
def test_a_trace_without_a_name_is_named_by_its_content(tmp_path, frame):
    columns = writes(2_000)
    name = tc.trace.open(frame(columns)).name
    code = "import sys, pickle; print(pickle.loads(sys.stdin.buffer.read()).name)"
    there = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(tc.trace.open(frame(columns))), capture_output=True, check=True)
    assert (name, there.stdout.decode().strip()) == (tc.trace.open(frame(columns)).name, name)
    other = dict(columns, offset=columns["offset"] + 4096)
    assert tc.trace.open(frame(other)).name != name
    # Two of one content are one trace, and a row that is in a data set is not written again.
    kept = {"store": tmp_path / "s", "dataset": tmp_path / "rows", "progress": False}
    grid = {"trace": [frame(columns), frame(columns), frame(other)], "policy": "greedy"}
    assert [tc.sweep(grid, **kept).computed for _ in range(2)] == [2, 0]
    assert pyarrow.parquet.read_table(tmp_path / "rows").num_rows == 2
    with pytest.raises(tc.UsageError, match="two traces are called x"):
        tc.compare([tc.trace.open(frame(one), name="x") for one in (columns, other)], "greedy", progress=False)


def test_a_name_by_content_does_not_depend_on_batches():
    table = pa.table(dict(writes(2_000), word=pa.array(["a", None] * 1_000)))
    whole, cut = (tc.trace.open(one).name for one in (table, pa.concat_tables([table[:700], table[700:]])))
    assert whole == cut == tc.trace.open(table.replace_schema_metadata({"made": "by"})).name


def test_what_is_asked_for_and_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(tc.UsageError, match="no settings of 'foo'"):
        tc.settings("foo")
    swept = tc.sweep({"workload": "uniform", "bytes": "8MiB", "capacity": "16MiB", "policy": "greedy"}, store=tmp_path)
    for wrong in ({"x": "typo"}, {"x": "policy", "hue": "typo"}):
        with pytest.raises(tc.UsageError, match="no setting and no figure typo"):
            swept.plot(**wrong)
    with pytest.raises(tc.UsageError, match="did you mean write_amplification"):
        swept.plot("policy", y="write_amplificatio")
    html = tc.compare(policies=["greedy"], no_oracle=True, **HOT)._repr_html_() + swept._repr_html_()
    assert "<td></td>" not in html


def test_numbers_of_numpy_are_numbers(tmp_path):
    plain = tc.run(policy="greedy", over_provisioning=0.25, seed=3, check=True, **HOT)
    numpy = tc.run(policy="greedy", over_provisioning=np.float64(0.25), seed=np.int64(3), check=np.bool_(True), **HOT)
    assert plain == numpy
    grid = {"workload": "uniform", "bytes": "8MiB", "capacity": "16MiB", "policy": "greedy"}
    seeds = tc.sweep({**grid, "seed": np.arange(2), "check": np.bool_(False)}, store=tmp_path, progress=False)
    assert len(seeds) == 2 and not seeds.failures


@pytest.mark.parametrize(
    "call",
    [
        "tc.run(workload='uniform', capacity='4TiB', bytes='1GiB', policy='greedy', progress=False)",
        "tc.trace.generate('uniform', span='16MiB', bytes='64TiB')",
    ],
)
def test_memory_that_cannot_be_had_is_an_error(call):
    code = f"""
import resource, thermocline as tc
held = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (1 << 30),) * 2)
try:
    {call}
except MemoryError as error:
    print('refused:', error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0 and "of memory at least, and" in ran.stdout, ran


def test_room_for_more_changes_of_the_map_than_there_are_is_not_taken():
    asked = {"workload": "uniform", "policy": "greedy", "capacity": "64MiB", "bytes": "8MiB", "over_provisioning": "20%", "progress": False}
    assert tc.run(map_cache="1TiB", **asked)["memory.total_bytes"] < 1 << 20


def test_a_comparison_answers_and_shows():
    compared = tc.compare(writes(), ["greedy", "dac"], progress=False, no_oracle=True)
    assert compared.best in ("greedy", "dac") and len(compared.results) == 2
    assert "dac" in compared._repr_html_() and compared.to_arrow().num_rows == 2
    assert pa.table(compared).num_rows == 2


def test_a_history_is_arrays():
    history = tc.run(history=True, policy="greedy", **HOT).history
    assert history.write_amplification.shape == (len(history.host_writes) - 1,)
    assert (history.write_amplification >= 1).all()
    assert (np.diff(history.elapsed_ns) > 0).all()
    assert history.write_us[0.5] <= history.write_us[0.999] <= history.write_us[1.0] and not any(history.read_us.values())
    compared = tc.compare(policies=["greedy", "dac"], history=True, seeds=2, **HOT)
    assert [one.history is not None for one in compared.results] == [True, False] * 2
    assert compared.results[0].history == history
    frame = history.to_polars()
    assert frame["host_writes"].to_list() == history.host_writes.tolist() == history.to_pandas()["host_writes"].tolist()
    assert frame["write_amplification"].to_list() == [None, *history.write_amplification.tolist()]


@pytest.mark.parametrize("kind", [None, ProcessPoolExecutor])
def test_a_sweep_keeps_histories(tmp_path, kind):
    grid = {**HOT, "policy": ["greedy", "dac"]}
    without = tc.sweep(grid, store=tmp_path, progress=False)
    with pytest.raises(ValueError, match="history=True"):
        without.history(0)
    executor = kind(2) if kind else None
    # Results are there, histories are not: both run again, once.
    for computed in (2, 0):
        swept = tc.sweep(grid, store=tmp_path, executor=executor, history=True, progress=False)
        assert swept.computed == computed and swept == without
    expected = [tc.run(policy=policy, history=True, **HOT).history for policy in grid["policy"]]
    assert [swept.history(at) for at in range(2)] == expected
    assert tc.sweep(grid, store=tmp_path, progress=False).computed == 0
    with pytest.raises(IndexError):
        swept.history(2)
    with pytest.raises(tc.UsageError, match="history="):
        tc.sweep(grid, until="write_amplification<=1.5", store=tmp_path, history=True)
    # A worker that does not reach the store sends them.
    cell = _work.Cell(swept._plan.cell(0)[1], "a", str(tmp_path), str(tmp_path / "absent"), history=True)
    outcome = _work.execute(cell)
    assert outcome.told is not None and outcome.history is not None


@pytest.mark.parametrize("kind", [None, ProcessPoolExecutor])
def test_a_sweep_goes_on_where_it_was(tmp_path, kind):
    grid = {"workload": "uniform", "policy": ["greedy", "fifo", "cat"], "capacity": "16MiB", "bytes": "8MiB"}
    executor = kind(2) if kind else None
    first = tc.sweep({**grid, "policy": "greedy"}, store=tmp_path, executor=executor, progress=False)
    whole = tc.sweep(grid, store=tmp_path, executor=executor, progress=False)
    assert (first.computed, whole.computed, len(whole.rows())) == (1, 2, 3) and not whole.failures
    assert tc.sweep(grid, store=tmp_path, progress=False).rows() == whole.rows()


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path):
    swept = tc.sweep({"workload": "uniform", "policy": ["greedy", "gredy"], "capacity": "16MiB"}, store=tmp_path)
    assert [bool(cell.get("error")) for cell in swept.cells] == [False, True]


def test_ctrl_c_stops_a_run():
    code = "import thermocline as tc; tc.run(workload='uniform', bytes='8TiB', progress=False)"
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    child.send_signal(2)
    assert "KeyboardInterrupt" in child.communicate(timeout=60)[1]


def test_a_run_leaves_the_interpreter_to_others():
    told = []
    tc.run(policy="greedy", workload="uniform", bytes="6GiB", capacity="64MiB", progress=lambda *a: told.append(a))
    assert any(one[0] == "progress" for one in told)


def attempt(call):
    """Whatever is wrong is an exception; a crash would end the tests."""
    try:
        call()
    except (tc.ThermoclineError, ValueError, TypeError, OverflowError, MemoryError, UnicodeError) as error:
        # A panic is caught too, and is a bug.
        assert not isinstance(error, tc.BrokenError), error


QUICK = settings(max_examples=60, deadline=None)
WIDE = hnp.arrays(np.int64, 3, elements=st.integers(-(2**63), 2**63 - 1))
ODD = hnp.arrays(st.one_of(hnp.scalar_dtypes()), hnp.array_shapes(max_dims=2, max_side=5))
NUMBERS = st.one_of(st.integers(), st.floats(), st.text(max_size=5), st.none(), st.booleans(), st.binary(max_size=3))
ANY = st.one_of(ODD, st.lists(NUMBERS, max_size=4), NUMBERS)


@QUICK
@given(st.fixed_dictionaries({}, optional={name: ANY for name in ("time", "op", "offset", "length", "other")}))
def test_no_arrays_crash(columns):
    attempt(lambda: tc.run(columns, "greedy", capacity="16MiB", progress=False))


def laid_out(array, how):
    """The same numbers elsewhere: at odd addresses, apart, backwards, in the other order of bytes, read-only."""
    if how == "odd":
        room = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
        room[:] = array
        return room
    if how == "record":
        records = np.zeros(len(array), [("pad", "u1"), ("it", array.dtype)])
        records["it"] = array
        return records["it"]
    if how == "frozen":
        array.flags.writeable = False
    return {"apart": np.repeat(array, 3)[::3], "back": array[::-1].copy()[::-1], "swapped": array.astype(array.dtype.newbyteorder())}.get(how, array)


LAYOUTS = st.sampled_from(["as it is", "odd", "record", "apart", "back", "swapped", "frozen"])


@QUICK
@given(WIDE, WIDE, hnp.arrays(np.uint8, 3), LAYOUTS)
def test_no_numbers_crash(offset, length, op, how):
    columns = {"offset": laid_out(offset, how), "length": laid_out(length, how), "op": laid_out(op, how)}
    attempt(lambda: tc.run(columns, "dac", capacity="16MiB", progress=False))
    table = pa.table({"offset": offset[::2], "length": length[::2], "op": op[::2]})
    attempt(lambda: tc.run(table, "dac", capacity="16MiB", progress=False))


@given(LAYOUTS, st.integers(0, 40))
@settings(max_examples=30, deadline=None)
def test_a_layout_is_no_other_trace(how, n):
    columns = writes(n)
    trace = tc.trace.open({name: laid_out(column, how) for name, column in columns.items()}, name="x")
    ours, theirs = (tc.trace.info(one) for one in (trace, tc.trace.open(columns, name="x"))) if n else (1, 1)
    assert ours == theirs
    copied = pickle.loads(pickle.dumps(trace))
    assert (len(copied), copied.name) == (n, "x")


TYPES = [pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float64(), pa.string(), pa.bool_(), pa.timestamp("us"), pa.null(), pa.list_(pa.int8())]


@QUICK
@given(st.fixed_dictionaries({name: st.tuples(st.sampled_from(TYPES), st.lists(NUMBERS, min_size=3, max_size=3)) for name in ("time", "op", "offset", "length")}))
def test_no_table_crashes(columns):
    def column(kind, values):
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return pa.array([None] * 3, kind)

    table = pa.table({name: column(*made) for name, made in columns.items()})
    attempt(lambda: tc.run(table, "greedy", capacity="16MiB", progress=False))
    attempt(lambda: tc.trace.info(table))


NAMES = st.sampled_from([one["name"] for one in tc.settings()] + ["nothing", "", "a b", "--", "\0"])


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(NAMES.filter(lambda n: n not in ("bytes", "workload", "capacity", "history", "progress", "policy", "trace")), NUMBERS, max_size=3))
def test_no_setting_crashes(given):
    device = {"workload": "uniform", "bytes": "1MiB", "capacity": "4MiB", "progress": False}
    attempt(lambda: tc.run(policy="greedy", **device, **given))
    attempt(lambda: tc.trace.generate("uniform", **{"bytes": "1MiB", **given}))
    attempt(lambda: tc.tune(policies=["greedy"], budget=1, parameters=False, **device, **given))
    with tempfile.TemporaryDirectory() as folder:
        attempt(lambda: tc.sweep({**device, "policy": ["greedy"], **given} | {"progress": None}, store=folder, progress=False))


def run_while(change, trace, runs):
    """Runs a trace while another thread changes its arrays again and again."""
    over = threading.Event()

    def change_on():
        while not over.is_set():
            change()

    thread = threading.Thread(target=change_on)
    thread.start()
    try:
        for _ in range(runs):
            attempt(lambda: tc.run(trace, "greedy", progress=False))
    finally:
        over.set()
        thread.join()


def test_arrays_may_change_while_they_are_read():
    columns = writes(200_000)
    rng = np.random.default_rng(2)

    def change():
        columns["offset"][:] = rng.integers(0, 2**40, 200_000, dtype=np.uint64)
        columns["op"][:] = rng.integers(0, 9, 200_000, dtype=np.uint8)
        columns["length"][:] = rng.integers(0, 2**64 - 1, 200_000, dtype=np.uint64)

    run_while(change, tc.trace.open(columns), 3)


def test_an_array_that_grows_or_shrinks_is_an_error_or_another_trace():
    columns = writes(1000)
    trace = tc.trace.open(columns)
    for column in columns.values():
        with pytest.raises(ValueError):
            column.resize(3)
    columns["offset"].shape = (10, 100)
    with pytest.raises(tc.InputError, match="not flat any more"):
        tc.run(trace, "greedy", progress=False)
    # Arrays of signed numbers were read by way of a view, whose memory went away with that of its owner.
    for kind in (np.int64, np.uint64):
        columns = {name: column if name == "op" else column.astype(kind) for name, column in writes(100_000).items()}
        sizes = itertools.cycle([10, 400_000, 100_000])

        def resize():
            for column in columns.values():
                column.resize(next(sizes), refcheck=False)

        run_while(resize, tc.trace.open(columns), 5)
