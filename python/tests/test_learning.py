"""Traces and lives as arrays, and what learns from them: placements, and agents in environments."""

import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas
import polars as pl
import pyarrow as pa
import pytest
from gymnasium.utils.env_checker import check_env

import thermocline as tc
from thermocline.gym import DeviceEnv, DeviceVectorEnv

ROOT = Path(__file__).parents[2]
SQLITE = ROOT / "corpus/sqlite-ext4.tct"
HOT = {"workload": "hot-cold:90/10", "capacity": "16MiB", "bytes": "24MiB", "progress": False}


def test_words_become_numpy_arrays_without_pandas():
    code = """
import sys
class Missing:
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] == "pandas":
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
import numpy as np, thermocline as tc
columns = {"op": np.array([1, 0], "u1"), "offset": np.array([0, 4096], "u8"), "length": np.array([4096, 4096], "u8")}
words = tc.trace.read(columns).to_numpy()["op"]
assert words.dtype == object and list(words) == ["write", "read"], words
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_requests_are_those_that_a_run_simulates(tmp_path):
    settings = {"progress": False, "clock": "device", "over_provisioning": "7%"}
    expected = tc.run(SQLITE, "dac", **settings)
    rows = tc.trace.read(SQLITE)
    table = rows.to_arrow()
    assert (table.num_rows, rows.columns) == (expected["trace.requests"], ("time", "op", "offset", "length", "volume", "hint"))
    frames = [table, rows.to_polars(), rows.to_pandas()]
    assert all(tc.run(frame, "dac", **settings) == expected for frame in frames)
    arrays = rows.to_numpy()
    assert arrays["offset"].dtype == np.uint64 and arrays["op"][2] == "read"
    assert sum(batch.num_rows for batch in rows) == table.num_rows
    assert tc.trace.convert(SQLITE, tmp_path / "a.parquet") == table.num_rows
    with pytest.warns(tc.ThermoclineWarning, match="offset_bytes:bytes"):
        assert tc.run(tmp_path / "a.parquet", "dac", **settings) == expected
    limited = tc.trace.read(SQLITE, limit=100, ops="read,write").to_arrow()
    assert limited.num_rows == 100 and set(limited["op"].to_pylist()) <= {"read", "write"}


def test_requests_in_memory_are_read_like_those_of_files():
    made = tc.trace.generate("hot-cold:90/10", span="8MiB", bytes="16MiB", reads=0.2)
    arrays = tc.trace.read(made).to_numpy()
    assert all((arrays[name] == made[name]).all() for name in ("time", "offset", "length"))
    assert (arrays["op"] == np.array(["read", "write"])[made["op"]]).all()


def test_what_is_wrong_with_a_trace_is_raised_where_it_is_read(tmp_path):
    with pytest.raises(tc.InputError, match="there is no such file"):
        tc.trace.read("no/such/file").to_arrow()
    with pytest.raises(tc.UsageError, match="did you mean"):
        tc.trace.read(SQLITE, volum="ram")
    path = tmp_path / "a.csv"
    # Far behind the first batches.
    path.write_text("time_ns,op,offset_bytes,length_bytes\n" + "0,W,4096,4096\n" * 300_000 + "0,W,nowhere,4096\n")
    rows = tc.trace.read(path)
    for read in (rows.to_arrow, rows.to_polars, lambda: list(rows), lambda: rows.to_parquet(tmp_path / "b.parquet")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tc.ThermoclineWarning)
            with pytest.raises(tc.InputError, match="300002"):
                read()
    assert not (tmp_path / "b.parquet").exists()


def test_what_is_at_an_address_is_described_and_read(tmp_path, monkeypatch):
    import fsspec

    monkeypatch.setenv("THERMOCLINE_CACHE", str(tmp_path))
    fsspec.filesystem("memory").pipe("/a/sqlite.tct", SQLITE.read_bytes())
    info = tc.trace.info("memory://a/sqlite.tct")
    assert info["writes"] == tc.trace.info(SQLITE)["writes"]
    assert tc.trace.read("memory://a/sqlite.tct").to_arrow() == tc.trace.read(SQLITE).to_arrow()


def test_a_split_has_no_life_of_which_the_end_was_not_known():
    lives = tc.lives(SQLITE)
    frame = lives.to_polars()
    assert frame["write"].n_unique() == len(frame) == tc.trace.info(SQLITE)["bytes_written"] // 4096
    assert frame.drop_nulls("end_write")["end_write"].is_sorted()
    known, coming = (part.to_polars() for part in lives.split(0.5))
    at = len(frame) // 2
    assert known["end_write"].max() < at <= coming["write"].min()
    alive = frame.filter((pl.col("write") < at) & ((pl.col("end_write") >= at) | pl.col("end_write").is_null()))
    assert len(known) + len(alive) + len(coming) == len(frame) and len(coming) == len(frame) - at
    assert lives.to_pandas()["life"].dtype == pandas.UInt64Dtype()
    assert lives.to_arrow().schema.names[-len(lives.features) :] == list(lives.features)


def periodic(rounds):
    """Two areas: one of 64 pages that is written again and again, one of 4,096 pages of which a part is written."""
    rng = np.random.default_rng(1)
    part = [np.concatenate([np.arange(64), 64 + rng.permutation(4096)[:64]]) for _ in range(rounds)]
    offset = np.concatenate(part).astype(np.uint64) * 4096
    return {"offset": offset, "length": np.full(len(offset), 4096, np.uint64)}


def test_lives_are_foretold_where_features_tell_them():
    told = tc.predictability(periodic(1000), ["interval_1", "run"])
    assert told.page_writes == 128 * 400 and [step.features for step in told.steps][1:] == [("interval_1",), ("interval_1", "run")]
    assert told.without.octaves > 2 and told.best.octaves < 1 and told.best.bits < told.without.bits
    hot, cold = np.zeros((2, len(tc.Lives.features)), np.uint32)
    hot[0], cold[0] = 128, 8192
    foretold = told.foretell(np.array([hot, cold]))
    assert abs(foretold[0] - 7) <= 1 < 5 < foretold[1]
    with pytest.raises(tc.UsageError, match='no feature "intervall"'):
        tc.predictability(periodic(10), ["intervall"])
    with pytest.raises(tc.UsageError, match="choose a share"):
        tc.predictability(periodic(10), split=1.0)


def figures(result):
    """What was done, but for memory, which differs with the size of batches."""
    return {key: value for key, value in result.flat().items() if not key.startswith(("perf", "memory", "trace.path"))}


def test_a_learned_placement_sees_what_the_lives_of_the_trace_have():
    """Features in training and in a run are the same, however many pages a call has."""
    made = tc.trace.generate("hot-cold:90/10", span="8MiB", bytes="16MiB", request="12KiB")
    lives = tc.lives(made).to_polars().sort("write")
    expected = lives.select(tc.Lives.features).fill_null(0).to_numpy()
    expected[:, tc.Lives.features.index("size")] = 0
    device = {"capacity": "16MiB", "absolute": True, "progress": False, "victim": "cost-benefit"}

    def run(batch):
        seen = []

        def predict(features, ages):
            if not ages.any():
                seen.append(features)
            return (features[:, 0] == 0) | (features[:, 0] > 500) | (ages > 1000)

        result = tc.run(made, placement=tc.Learned(predict, streams=2, survivors=False, batch=batch), **device)
        return result, np.concatenate(seen), len(seen)

    alone, by_page, calls = run(1)
    many, by_batch, fewer = run(512)
    assert figures(alone) == figures(many) and fewer < calls / 3 and calls == len(expected)
    assert (by_page == expected).all()

    class Same(tc.Placement):
        streams = 2

        def begin(self, device):
            self.last, self.writes = np.full(device.logical_pages, -1), 0

        def host(self, pages, now):
            interval = np.where(self.last[pages] < 0, 0, self.writes - self.last[pages])
            return (interval == 0) | (interval > 500)

        def written(self, pages, streams, times):
            self.last[pages] = self.writes
            self.writes += len(pages)

        def survivors(self, pages, victim):
            return 1

    Same.batch = 1
    assert tc.run(made, placement=Same(), **device)["flash.pages_programmed"] == many["flash.pages_programmed"]


def test_a_learned_placement_that_is_wrong_stops_the_run():
    def run(predict):
        tc.run(placement=tc.Learned(predict, streams=2), **HOT)

    with pytest.raises(ZeroDivisionError):
        run(lambda features, ages: 1 // 0)
    with pytest.raises(tc.PolicyError, match="its streams are 0 to 1"):
        run(lambda features, ages: 2)
    with pytest.raises(ValueError, match="return"):
        run(lambda features, ages: ages[1:])


def test_what_was_foretold_places_pages():
    """A trace whose lives can be foretold gains by it."""
    device = {"over_provisioning": "7%", "ops": "-trim", "clock": "device", "victim": "cost-benefit", "progress": False}
    told = tc.predictability(SQLITE, ["interval_1"], ops="-trim")
    assert told.best.octaves < told.without.octaves - 0.5
    placed = tc.run(SQLITE, placement=told.placement(), **device)
    assert placed.write_amplification < tc.run(SQLITE, placement="sep-gc", **device).write_amplification


def episode(env, act, seeds):
    """The results of one episode on each device, and the sums of rewards."""
    observations, infos = env.reset(seed=seeds)
    results, returns = [None] * env.num_envs, np.zeros(env.num_envs)
    while any(result is None for result in results):
        observations, rewards, terminated, truncated, infos = env.step(act(observations, infos))
        assert not terminated.any()
        returns += np.where([result is None for result in results], rewards, 0)
        for at in np.flatnonzero(truncated):
            results[at] = results[at] or infos["result"][at]
    return results, returns


def copies(result):
    return result["flash.pages_programmed"] - result["host.pages_written"]


def test_an_agent_that_decides_like_a_policy_has_its_result():
    env = DeviceVectorEnv(num_envs=2, decide="placement", streams=2, victim="cost-benefit", **HOT)
    results, returns = episode(env, lambda _, infos: infos["asked"] == 1, seeds=5)
    for seed, result, cost in zip((5, 6), results, returns):
        expected = tc.run(victim="cost-benefit", placement="sep-gc", seed=seed, **HOT)
        assert copies(result) == copies(expected) > 0 and result["wear"] == expected["wear"]
        pages = result["device.pages_per_block"] if "device.pages_per_block" in result.flat() else 64
        assert cost == pytest.approx(-copies(expected) / pages)


class Front(tc.Victim):
    """The third of the blocks that no other beats in valid pages and age, or the last."""

    def choose(self, blocks, now):
        oldest, front = np.inf, []
        for valid in range(blocks.pages):
            these = np.flatnonzero(blocks.candidates & (blocks.valid == valid))
            if len(these) and blocks.stamps[these].min() < oldest:
                oldest = blocks.stamps[these].min()
                front.append(these[blocks.stamps[these].argmin()])
        return front[min(2, len(front) - 1)] if front else None


def test_an_agent_chooses_among_the_blocks_that_no_other_beats():
    env = DeviceVectorEnv(num_envs=1, decide="victim", placement="sep-bit", candidates=64, **HOT)
    [result], [cost] = episode(env, lambda *_: np.array([2]), seeds=3)
    expected = tc.run(victim=Front(), placement="sep-bit", seed=3, **HOT)
    assert copies(result) == copies(expected) > 0 and cost == pytest.approx(-copies(expected) / 64)


def test_rewards_count_waits_and_wear():
    def returns(**weights):
        env = DeviceVectorEnv(num_envs=1, decide="both", streams=2, **weights, **HOT)
        return episode(env, lambda _, infos: np.stack([infos["asked"] == 1, infos["asked"] * 0], 1), seeds=1)

    [plain], [by_copies] = returns()
    [same], [by_waits] = returns(write_amplification=0.0, latency=1.0)
    [_], [by_wear] = returns(write_amplification=0.0, wear=1.0)
    [_], [by_all] = returns(write_amplification=2.0, latency=3.0, wear=4.0)
    assert plain == same and by_waits < 0
    assert by_all == pytest.approx(2 * by_copies + 3 * by_waits + 4 * by_wear)
    with pytest.raises(tc.UsageError, match="wear= counts blocks"):
        DeviceVectorEnv(decide="placement", wear=1.0, **HOT)


@pytest.mark.parametrize("decide", ["placement", "victim", "both"])
def test_environments_are_those_of_gymnasium(decide):
    env = DeviceEnv(decide=decide, **HOT)
    check_env(env, skip_render_check=True)
    # A number of no candidate is the last of them; one of no action is an error.
    observation, infos = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    with pytest.raises(tc.UsageError, match="there is no (block|stream) 99"):
        env.step(np.full(env.action_space.shape, 99) if decide == "both" else 99)


def test_a_device_begins_again_at_the_step_after_its_end():
    env = DeviceVectorEnv(num_envs=1, decide="victim", **HOT)
    env.reset(seed=1)
    while not env.step(np.array([0]))[3][0]:
        pass
    first = env.step(np.array([0]))
    assert not first[3][0] and first[1][0] == 0 and first[4]["asked"][0] == 2
    with pytest.raises(tc.UsageError, match="there is no input"):
        DeviceVectorEnv(progress=False)
    with pytest.raises(tc.UsageError, match="before anything is decided"):
        DeviceEnv(decide="victim", **{**HOT, "bytes": "64KiB"}).reset(seed=1)


def test_the_agent_of_the_examples_learns(monkeypatch):
    spec = importlib.util.spec_from_file_location("agent", ROOT / "examples/own-policy/agent.py")
    agent = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(agent)
    monkeypatch.setattr(agent, "MEMBERS", 4)
    monkeypatch.setattr(agent, "TRAINING", HOT)
    one, same = agent.train(2), agent.train(2)
    assert (one == same).all() and np.isfinite(one).all() and one.any()


def blocks(section):
    """The Python of a section of the guide."""
    text = (ROOT / "docs/python.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [block.split("\n```")[0] for block in text.split("```python\n")[1:]]


@pytest.mark.parametrize("section", ["Traces as arrays", "Learned policies"])
@pytest.mark.filterwarnings("ignore::thermocline.ThermoclineWarning")
def test_the_guide_runs_as_printed(section, tmp_path, monkeypatch):
    (tmp_path / "corpus").symlink_to(ROOT / "corpus")
    monkeypatch.chdir(tmp_path)
    names = {"tc": tc, "np": np}
    for block in blocks(section):
        exec(block, names)


def test_the_network_of_the_examples_separates_pages():
    spec = importlib.util.spec_from_file_location("inference", ROOT / "examples/own-policy/inference.py")
    inference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(inference)
    trace = tc.trace.generate("hot-cold:90/10", span="16MiB", bytes="96MiB")
    rows = tc.lives(trace).split(0.6)[0].to_polars().drop_nulls("life")
    features = rows.select(pl.col(tc.Lives.features).fill_null(0).cast(pl.UInt32)).to_numpy()
    weights = inference.learnt(features, rows["life"].to_numpy(), rounds=300)
    predict, twin = inference.by_numpy(weights), inference.by_numba(weights)
    assert (predict(features, None) == twin(features, None)).mean() > 0.99
    assert len(set(predict(features, None))) > 1
    device = {"over_provisioning": "10%", "block_size": "32KiB", "victim": "cost-benefit", "progress": False}
    plain = tc.run(trace, placement="one-stream", **device)
    assert tc.run(trace, placement=tc.Learned(predict, streams=8), **device).write_amplification < plain.write_amplification
