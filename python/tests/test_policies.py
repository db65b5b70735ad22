"""Policies of the user's own: the same decisions as their twins, errors that reach the user, no crash."""

import importlib.util
import pathlib
import subprocess
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import thermocline as tc

ROOT = pathlib.Path(__file__).parents[2]
SMALL = {"workload": "hot-cold:90/10", "capacity": "32MiB", "bytes": "64MiB", "progress": False}
SQLITE = {"trace": ROOT / "corpus/sqlite-ext4.tct", "over_provisioning": "7%", "progress": False}


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = loaded(ROOT / "examples/own-policy/policy.py")


@pytest.fixture(scope="session")
def native(tmp_path_factory):
    library = tmp_path_factory.mktemp("native") / "policy.so"
    folder = ROOT / "crates/policy/include"
    source = ROOT / "examples/own-policy/policy.c"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{folder}"]
    subprocess.run(["cc", *flags, "-o", library, source], check=True)
    return library


class Lightest(tc.Victim):
    def score(self, blocks, now):
        return blocks.valid


class Chooser(tc.Victim):
    def choose(self, blocks, now):
        candidates = np.flatnonzero(blocks.candidates)
        return None if len(candidates) == 0 else candidates[blocks.valid[candidates].argmin()]


class Formula(tc.Victim):
    def ratio(self, valid, pages):
        return valid


class Log(tc.Victim):
    """cost-benefit as it is by default, but for what rounding does to a logarithm."""

    ages = "created"

    def begin(self, device):
        self.tau = device.time_scale

    def ratio(self, valid, pages):
        return valid, pages - valid

    def age(self, age):
        return 1 + np.log2(1 + age / self.tau)


def figures(result):
    """What was done, but for names and memory."""
    told = {key: value for key, value in result.flat().items() if not key.startswith(("perf", "config", "memory"))}
    return {key: value for key, value in told.items() if "victims_by" not in key and "choices" not in key and "ram" not in key}


def same(theirs, ours, inputs):
    told = [figures(tc.run(**inputs, **one)) for one in (theirs, ours)]
    different = {key: (told[0][key], told[1].get(key)) for key in told[0] if told[0][key] != told[1].get(key)}
    assert not different


INPUTS = [
    SMALL,
    {**SMALL, "seed": 5, "clock": "arrivals", "interarrival": "100us"},
    {**SMALL, "banks": 2, "workload": "uniform"},
    {**SMALL, "read_only": "20%", "policy": "cat"},
    {**SQLITE, "ops": "-trim", "clock": "device"},
    SQLITE,
]


@pytest.mark.parametrize("inputs", INPUTS, ids=str)
def test_policies_of_python_decide_as_their_twins(inputs):
    same({"victim": "greedy", "placement": "dac"}, {"victim": Lightest(), "placement": example.Regions()}, inputs)
    same({"victim": "greedy", "placement": "dac"}, {"victim": Chooser(), "placement": example.Regions()}, inputs)
    twin = {"victim": "cost-benefit(transform=identity)", "placement": "one-stream"}
    same(twin, {"victim": example.CostBenefit(), "placement": "one-stream"}, inputs)


@pytest.mark.parametrize("inputs", INPUTS, ids=str)
def test_policies_of_c_decide_as_their_twins(inputs, native):
    regions = tc.NativePlacement.load(native, "regions")
    lightest = tc.NativeVictim.load(native, "lightest")
    same({"victim": "greedy", "placement": "dac"}, {"victim": lightest, "placement": regions}, inputs)
    twin = {"victim": "cost-benefit(transform=identity)", "placement": "dac"}
    same(twin, {"victim": tc.NativeVictim.load(native, "cost_benefit"), "placement": regions}, inputs)


def test_a_formula_is_found_by_the_index():
    same({"policy": "greedy"}, {"policy": Formula()}, SMALL)
    ours, theirs = tc.run(victim=Log(), **SMALL), tc.run(victim="cost-benefit", **SMALL)
    assert ours.write_amplification == pytest.approx(theirs.write_amplification, rel=1e-3)


def test_batches_change_nothing_unless_asked_to():
    regions = example.Regions()
    told = []
    for batch, stale in [(1, False), (7, False), (4096, False), (4096, True)]:
        regions.batch, regions.stale = batch, stale
        told.append(tc.run(placement=regions, **SMALL))
    assert figures(told[0]) == figures(told[1]) == figures(told[2])
    assert told[3].write_amplification == pytest.approx(told[0].write_amplification, rel=0.05)


def test_comparisons_name_them_and_run_each_anew():
    both = tc.Policy("both", victim=Lightest(), placement=example.Regions())
    compared = tc.compare(
        None, ["greedy", Lightest(), both], seeds=2, no_oracle=True, **{**SMALL, "workload": ["uniform", "hot-cold:90/10"]}
    )
    ran = {(r.policy, r["config.seed"]): r.write_amplification for r in compared.results}
    assert len(compared.results) == 12 and len(ran) == 6
    assert [ran["greedy", seed] for seed in (1, 2)] == [ran["Lightest", seed] for seed in (1, 2)]
    assert compared.results[2].data["config"]["victim"] == "Lightest"


class Kept(Lightest):
    version = "1"


def test_sweeps_and_fleets_know_them_by_their_versions(tmp_path):
    grid = {"workload": "uniform", "policy": ["greedy", Kept()], "capacity": "16MiB", "bytes": "8MiB"}
    swept = [tc.sweep(grid, store=tmp_path, progress=False) for _ in range(2)]
    assert [one.computed for one in swept] == [2, 0] and not swept[0].failures
    theirs, ours = [row["write_amplification"] for row in swept[1].rows()]
    assert theirs == ours
    Kept.version = "2"
    assert tc.sweep(grid, store=tmp_path, progress=False).computed == 1
    with pytest.raises(tc.UsageError, match="version"):
        tc.sweep({**grid, "policy": Lightest()}, store=tmp_path, progress=False)
    offsets = np.random.default_rng(1).integers(0, 2000, 20_000).astype(np.uint64) * 4096
    fleet = tc.fleet({"offset": offsets, "length": np.full(20_000, 4096, np.uint64)}, ["greedy", Lightest()], progress=False)
    theirs, ours = [row["write_amplification"] for row in fleet.rows()]
    assert theirs == ours and fleet.failed == 0


def test_a_library_goes_to_workers_by_its_path(native, tmp_path):
    regions = tc.NativePlacement.load(native, "regions")
    regions.version = "1"
    grid = {"workload": "hot-cold:90/10", "placement": regions, "capacity": "16MiB", "bytes": "16MiB"}
    here, there = (
        tc.sweep(grid, store=tmp_path / name, executor=executor, progress=False)
        for name, executor in (("here", None), ("there", lambda: ProcessPoolExecutor(1)))
    )
    assert (there.computed, there.failures, here.to_arrow().equals(there.to_arrow())) == (1, [], True)


def test_what_a_policy_raises_reaches_the_user():
    class Faulty(tc.Placement):
        def host(self, pages, now):
            return 1 // (len(pages) - len(pages))

    for call in (lambda: tc.run(policy=Faulty(), **SMALL), lambda: tc.compare(policies=["greedy", Faulty()], **SMALL)):
        with pytest.raises(ZeroDivisionError) as raised:
            call()
        assert any(entry.name == "host" for entry in raised.traceback)
    assert tc.run(policy="greedy", **SMALL).write_amplification > 1


class Given(tc.Placement):
    streams = 3

    def __init__(self, method, answer):
        self.method, self.answer = method, answer

    def host(self, pages, now):
        return self.answer(pages) if self.method == "host" else 0

    def survivors(self, pages, victim):
        return self.answer(pages) if self.method == "survivors" else 0


@pytest.mark.parametrize("method", ["host", "survivors"])
@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (lambda pages: 3, tc.PolicyError, "stream 3; its streams are 0 to 2"),
        (lambda pages: np.full(len(pages), -1), tc.PolicyError, "stream 255"),
        (lambda pages: np.zeros(len(pages) + 1, int), ValueError, "the stream of each page"),
        (lambda pages: np.zeros(len(pages)), TypeError, "float64; return whole numbers"),
        (lambda pages: None, TypeError, "object; return whole numbers"),
        (lambda pages: [[0]], ValueError, "shape"),
    ],
)
def test_wrong_streams_are_errors(method, answer, error, text):
    with pytest.raises(error, match=text):
        tc.run(policy=Given(method, answer), **SMALL)


class Answers(tc.Victim):
    def __init__(self, answer):
        self.answer = answer

    def choose(self, blocks, now):
        return self.answer(blocks)


class Scores(Answers):
    choose = tc.Victim.choose

    def score(self, blocks, now):
        return self.answer(blocks)


class Costs(Answers):
    choose = tc.Victim.choose

    def ratio(self, valid, pages):
        return self.answer(valid)


@pytest.mark.parametrize(
    ("policy", "error", "text"),
    [
        (Answers(len), tc.PolicyError, "names block"),
        (Answers(lambda blocks: -1), tc.PolicyError, "names block"),
        (Answers(lambda blocks: int(np.flatnonzero(~blocks.candidates)[0])), tc.PolicyError, "choose a candidate"),
        (Answers(lambda blocks: "x"), TypeError, "return the number of a block"),
        (Scores(lambda blocks: blocks.valid * np.nan), tc.PolicyError, "is not a number"),
        (Scores(lambda blocks: blocks.valid[1:]), ValueError, "one of each block"),
        (Costs(lambda valid: -valid), tc.PolicyError, "do not fall"),
        (Costs(lambda valid: valid[1:]), tc.PolicyError, "valid pages each"),
        (Costs(lambda valid: (valid, valid * 0)), tc.PolicyError, "finite"),
    ],
)
def test_wrong_choices_are_errors(policy, error, text):
    with pytest.raises(error, match=text):
        tc.run(policy=policy, **SMALL)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tc.run(policy=tc.Victim(), **SMALL), "no method"),
        (lambda: tc.run(policy=type("Wide", (tc.Placement,), {"streams": 65})(), **SMALL), "1 to 64"),
        (lambda: tc.run(policy=type("dac", (tc.Placement,), {})(), **SMALL), "another name"),
        (lambda: tc.run(policy="greedy", victim=example.Regions(), **SMALL), "no victim policy"),
        (lambda: tc.run(policy="nftl", victim=Lightest(), **SMALL), "page-mapped"),
        (lambda: tc.NativePlacement("x", streams=2, host="y"), "numba"),
        (lambda: tc.compare(policies=[Lightest(), Lightest()], **SMALL), "two policies"),
    ],
)
def test_what_makes_no_sense_is_said_before_the_run(make, text):
    with pytest.raises(tc.UsageError, match=text):
        make()


def test_a_policy_without_victims_ends_in_an_error():
    with pytest.raises(tc.FailedError):
        tc.run(policy=Answers(lambda blocks: None), **SMALL)


ANY = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(max_size=3), st.lists(st.integers(), max_size=3),
    hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(max_dims=2, max_side=4)),
)
QUICK = settings(max_examples=40, deadline=None)
TINY = {**SMALL, "capacity": "16MiB", "bytes": "4MiB"}


@QUICK
@given(ANY, st.sampled_from(["host", "survivors"]), st.booleans())
def test_no_streams_crash(answer, method, like):
    def streams(pages):
        if like and isinstance(answer, np.ndarray) and answer.size:
            return np.resize(answer, len(pages))
        return answer

    try:
        tc.run(policy=Given(method, streams), **TINY)
    except Exception as error:
        assert not isinstance(error, tc.BrokenError)


@QUICK
@given(ANY, st.sampled_from([Answers, Scores, Costs]), st.booleans())
def test_no_choices_crash(answer, kind, like):
    def made(of):
        if like and isinstance(answer, np.ndarray) and answer.size:
            return np.resize(answer, len(of))
        return answer

    try:
        tc.run(policy=kind(made), **TINY)
    except Exception as error:
        assert not isinstance(error, tc.BrokenError)


def test_arrays_may_be_kept_and_changed():
    kept = []

    class Keeper(Lightest):
        def score(self, blocks, now):
            kept.extend((blocks, blocks.valid, blocks.stamps))
            blocks.valid[:] = 0
            return super().score(blocks, now)

    same({"policy": "greedy"}, {"policy": Keeper()}, SMALL)
    assert len(kept[0]) == len(kept[1]) and kept[1].max() <= kept[0].pages


def test_functions_of_numba_are_policies():
    numba = pytest.importorskip("numba")
    made = functions_of_numba(numba)
    inputs = SMALL
    same({"victim": "greedy", "placement": "dac"}, {"victim": made[0], "placement": made[1]}, inputs)


def functions_of_numba(numba):
    """Twins of greedy and of dac."""
    s = tc.policy.SIGNATURES
    carray = numba.carray

    @numba.cfunc(s["ratio"])
    def ratio(state, valid, pages, numerator, denominator):
        carray(numerator, 1)[0] = valid
        carray(denominator, 1)[0] = 1.0
        return 0

    @numba.cfunc(s["host"])
    def host(state, pages, count, now, streams):
        pages, streams = carray(pages, count), carray(streams, count)
        for i in range(count):
            region = carray(state, pages[i] + 1, np.int8)[pages[i]]
            streams[i] = min(region + 1, 3)
        return 0

    @numba.cfunc(s["placement.written"])
    def written(state, pages, streams, times, count):
        pages, streams = carray(pages, count), carray(streams, count)
        for i in range(count):
            carray(state, pages[i] + 1, np.int8)[pages[i]] = streams[i]
        return 0

    @numba.cfunc(s["survivors"])
    def survivors(state, victim, pages, count, streams):
        pages, streams = carray(pages, count), carray(streams, count)
        for i in range(count):
            region = carray(state, pages[i] + 1, np.int8)
            region[pages[i]] = max(region[pages[i]] - 1, 0)
            streams[i] = region[pages[i]]
        return 0

    @numba.cfunc(s["filled"])
    def filled(state, pages, count, now):
        pages = carray(pages, count)
        for i in range(count):
            carray(state, pages[i] + 1, np.int8)[pages[i]] = 0
        return 0

    def state(device):
        return np.full(device.logical_pages, -1, np.int8)

    victim = tc.NativeVictim("greedy-numba", ratio=ratio)
    placement = tc.NativePlacement(
        "dac-numba", streams=4, host=host, written=written, survivors=survivors, filled=filled, state=state
    )
    return victim, placement
