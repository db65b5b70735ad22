"""What a user's checkers see of every public name: python/typed.sh gives this file to pyright and mypy, both strict,
and nothing runs it. A line that must be wrong says so."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Union

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from numpy.typing import NDArray

import thermocline as tc
from thermocline.gym import DeviceEnv, DeviceVectorEnv
from thermocline.policy import SIGNATURES, Blocks, Cleaning, Device, PolicyLike

Row = dict[str, Any]
Float = Union[float, None]

# Runs and comparisons. Settings that do not exist, and values that a setting cannot have, are found.
result: tc.Result = tc.run("a.tct", "dac", over_provisioning="7%", seed=np.int64(3), check=True, trigger="lazy", history=True)
tc.run("a.tct", over_provisionin="7%")  # type: ignore[call-arg]
tc.run("a.tct", trigger="lasy")  # type: ignore[arg-type]
amplification: Float = result.write_amplification
texts: tuple[str, str, tuple[str, ...]] = (result.policy, result.digest, result.notes)
figures: Row = result.flat()
figure: Any = result["flash.blocks_erased"]
over_time: tc.History | None = result.history
if over_time is not None:
    samples: NDArray[np.float64] = over_time.write_amplification
    erases: NDArray[np.int64] = over_time.erases
    samples_of: pl.DataFrame = over_time.to_polars()
axes: Axes = result.plot(file="figure.pdf")
compared: tc.Comparison = tc.compare(["a.tct", "b.tct"], ["greedy", tc.Policy("mine", placement="sep-bit")], capacity=1 << 30)
best: str | None = compared.best
runs: tuple[tc.Result, ...] = compared.results
compared.plot(ax=axes)
rows: list[Row] = compared.rows()
reproduced: Row = tc.reproduce(["cat/table-4"], quick=True)

# Sweeps, fleets, searches.
swept: tc.Sweep = tc.sweep({"policy": ["greedy", "cat"]}, store="results", executor=ProcessPoolExecutor(2), dataset="rows")
cells: Iterator[Row] = swept.cells
failures: list[tuple[str, str]] = swept.failures
numbers: tuple[int, int, str] = (len(swept), swept.computed, swept.store)
swept.plot(x="over_provisioning", hue="policy")
searched: tc.Searched = tc.sweep({"over_provisioning": "5%..40%"}, until="write_amplification<=2", tolerance="1%")
found: dict[str, str | None] = searched.found
fleet: tc.Fleet = tc.fleet(["a.tct"], ["greedy"], executor=lambda: ProcessPoolExecutor(2), partitions=4)
summaries: tuple[Row, ...] = fleet.summaries
tuned: tc.Tuned = tc.tune("a.tct", ["greedy", "dac"], aim="lifetime", over_provisioning="7%..28%/3%")
chosen: tuple[str, dict[str, str], Float] = (tuned.policy, tuned.settings, tuned.distance)
front: list[Row] = tuned.front

# Traces.
trace: tc.Trace | str = tc.trace.open({"offset": np.arange(9), "length": np.full(9, 4096)}, name="nine")
requests: tc.Rows = tc.trace.read(trace, volume="sda")
frame: pl.DataFrame = requests.to_polars()
columns: dict[str, NDArray[Any]] = requests.to_numpy()
names: tuple[str, ...] = requests.columns
written: int = tc.trace.convert("a.tct", "a.parquet", ops="-trim")
known: Row = tc.trace.info("s3://bucket/a.tct", limit=9, storage_options={"anon": True})
generated: dict[str, NDArray[Any]] = tc.trace.generate("uniform", span="16MiB")
lists: list[list[Row]] = [tc.policies(), tc.devices(), tc.workloads(), tc.settings("compare")]

# Learned policies.
lives: tc.Lives = tc.lives("a.tct", page_size=4096)
training, test = lives.split(0.6)
halves: tuple[tc.Rows, tc.Rows] = (training, test)
told: tc.Predictability = tc.predictability("a.tct", ["interval_1"])
octaves: float = told.best.octaves
learned: tc.Learned = told.placement(streams=4)
tc.run("a.tct", placement=tc.Learned(lambda features, ages: features[:, 0] > 9, streams=2), device="emmc-5.1")
env = DeviceVectorEnv("a.tct", num_envs=8, decide="victim", over_provisioning="7%")
observations, rewards, terminated, truncated, infos = env.step(env.action_space.sample())
arrays: tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], Row] = (observations, rewards, truncated, infos)
first: NDArray[np.float32] = DeviceEnv("a.tct").reset(seed=1)[0]


# Policies of a user's own.
class Lightest(tc.Victim):
    def begin(self, device: Device) -> None:
        self.pages: int = device.logical_pages

    def score(self, blocks: Blocks, now: int) -> NDArray[np.uint32]:
        return blocks.valid


class Halves(tc.Placement):
    streams = 2

    def host(self, pages: NDArray[np.uint32], now: int) -> NDArray[np.bool_]:
        return pages < 9

    def survivors(self, pages: NDArray[np.uint32], victim: Cleaning) -> int:
        return victim.stream


loaded: tc.NativePlacement = tc.NativePlacement.load("policy.so", "regions")
native: tc.NativeVictim = tc.NativeVictim("mine", ratio=0, ages="created")
policies: list[PolicyLike] = ["greedy", Lightest(), Halves(), native, loaded, tc.Policy("both", victim=Lightest())]
presets: list[str] = [tc.policies.Cat(tau="1h", victim=tc.policies.victim.DChoices(d=3)), tc.policies.SepBit()]
tc.compare("a.tct", presets, placement=tc.policies.placement.Dac(regions=3, holds="sinking"))
tc.policies.Cat(taw="1h")  # type: ignore[call-arg]
tc.policies.victim.Cat(age="young")  # type: ignore[arg-type]
signature: str = SIGNATURES["ratio"]


def watched(kind: str, text: str, *counts: object) -> None: ...


try:
    tc.run("a.tct", progress=watched)
except (tc.UsageError, tc.InputError, tc.FailedError, tc.BrokenError, tc.PolicyError) as error:
    every: tc.ThermoclineError = error
kinds: tuple[type[Warning], str] = (tc.ThermoclineWarning, tc.__version__)
