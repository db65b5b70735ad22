"""Devices as environments of Gymnasium: an agent chooses the blocks that are cleaned, the streams of pages, or both.

An environment is a run of :func:`thermocline.run` that stops at each decision. The same decisions give the same
result as a policy that decides so, and ``info["result"]`` of the last step is that result.

What is decided (``info["asked"]``):

* ``0``: the stream of a page that the host writes. ``1``: the stream of a valid page of a block that is cleaned.
* ``2``: the block that is cleaned, one of ``info["candidates"]``: the blocks that no other beats in both valid pages
  and age, those with the fewest valid pages first. A number beyond them is the last of them.

An observation is 3 values that say which of these is asked, then, if the agent places pages, 10 of the page: the
features of :data:`thermocline.lives` but the size, its age, and the share of valid pages in the block that is cleaned;
then, if it chooses blocks, 4 of each candidate: the share of its valid pages, its age, its erases above the mean (in
hundreds, at most one), its stream. Numbers of page writes are ``log2(1 + n) / 32``, ages of blocks ``log2(1 + ns) / 64``. What is
not asked is 0.

The reward is what the last decisions cost: pages copied, in blocks, times ``write_amplification=``, plus the squared
times that page writes waited for cleaning, in times in which a block is written, times ``latency=``, plus the erases
of the erased blocks above the mean, times ``wear=``. All of it is negative. An episode ends with its input
(``truncated``): a device does not terminate.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from . import _native
from . import trace as _trace
from ._places import Options, Places
from ._progress import Progress, Telling
from ._words import Setting, words
from .results import Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DeviceEnv", "DeviceVectorEnv"]


def _devices(
    trace: _trace.TraceLike | None,
    count: int,
    decide: str,
    streams: int,
    candidates: int,
    weights: tuple[float, float, float],
    storage_options: Options,
    progress: Progress,
    settings: dict[str, Any],
) -> _native.Devices:
    if decide not in ("placement", "victim", "both"):
        raise _native.UsageError(f"decide={decide!r}; choose from 'placement', 'victim' and 'both'")
    if weights[2] and decide == "placement":
        raise _native.UsageError("wear= counts blocks that the agent chooses; take decide='victim' or 'both'")
    if not 1 <= streams <= 64 or candidates < 1:
        raise _native.UsageError(f"streams={streams}, candidates={candidates}; choose 1 to 64 streams, 1 candidate or more")
    places = Places([] if trace is None else [trace], storage_options)
    said = words({"trace": places.local(), **settings})
    with Telling(progress) as listener:
        return _native.Devices(said, places.memories, listener, count, decide, (streams, candidates), weights)


def _spaces(decide: str, streams: int, candidates: int, width: int) -> tuple[Any, Any]:
    """What is seen and what is answered: a stream, a candidate, or both, of which the one that is not asked is unused."""
    observed = gymnasium.spaces.Box(-1.0, 1.0, (width,), np.float32)
    if decide == "both":
        return observed, gymnasium.spaces.MultiDiscrete([streams, candidates])
    return observed, gymnasium.spaces.Discrete(streams if decide == "placement" else candidates)


class DeviceVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Several devices with the same input and settings, which differ by their seeds.

    ``settings`` are those of :func:`thermocline.run`; ``victim=``, ``placement=`` or ``policy=`` say what decides where
    the agent does not. ``observations, rewards, terminated, truncated, infos = env.step(actions)`` takes and gives
    arrays. A device whose episode has ended begins the next one at the next step, whose action is not used.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    single_observation_space: gymnasium.Space[Any]
    single_action_space: gymnasium.Space[Any]

    def __init__(
        self,
        trace: _trace.TraceLike | None = None,
        *,
        num_envs: int = 1,
        decide: str = "both",
        streams: int = 4,
        candidates: int = 8,
        write_amplification: float = 1.0,
        latency: float = 0.0,
        wear: float = 0.0,
        storage_options: Options = None,
        progress: Progress = None,
        **settings: Setting,
    ) -> None:
        weights = (write_amplification, latency, wear)
        self._devices = _devices(trace, num_envs, decide, streams, candidates, weights, storage_options, progress, dict(settings))
        self.num_envs = num_envs
        self.decide = decide
        self._spaces: tuple[Any, Any] = _spaces(decide, streams, candidates, self._devices.width())
        self.single_observation_space, self.single_action_space = self._spaces
        batched = gymnasium.vector.utils.batch_space
        self.observation_space, self.action_space = (batched(space, num_envs) for space in self._spaces)
        self._seeds = np.zeros(num_envs, np.int64)
        self._ended = np.ones(num_envs, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode on each device. With a seed, device ``n`` has ``seed + n``; without, each has its next one."""
        if isinstance(seed, int):
            self._seeds = seed + np.arange(self.num_envs)
        elif seed is not None:
            self._seeds = np.array([at if one is None else one for at, one in enumerate(seed)])
        else:
            self._seeds = self._seeds + self.num_envs
        for at in range(self.num_envs):
            self._devices.reset(at, int(self._seeds[at]))
        self._ended[:] = False
        observations, asked, candidates = self._devices.observed()
        return observations, {"asked": asked, "candidates": candidates}

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One decision on each device."""
        given = np.asarray(actions, np.int64)
        streams, victims = (given[:, 0], given[:, 1]) if self.decide == "both" else (given, given)
        for at in np.flatnonzero(self._ended):
            self._seeds[at] += self.num_envs
            self._devices.reset(int(at), int(self._seeds[at]))
        results: dict[int, str] = {}
        observations, rewards, ended, asked, candidates = self._devices.step(streams, victims, ~self._ended, results)
        infos: dict[str, Any] = {"asked": asked, "candidates": candidates}
        if results:
            infos["result"] = np.array([Result(json.loads(results[at])) if at in results else None for at in range(self.num_envs)])
            infos["_result"] = ended
        self._ended = ended
        return observations, rewards, np.zeros(self.num_envs, bool), ended, infos


class DeviceEnv(gymnasium.Env[Any, Any]):
    """One device: :class:`DeviceVectorEnv` of one, as an environment of its own."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, trace: _trace.TraceLike | None = None, *, render_mode: str | None = None, **settings: Any) -> None:
        self.render_mode = render_mode
        self._one = DeviceVectorEnv(trace, num_envs=1, **settings)
        self.observation_space, self.action_space = self._one._spaces

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode."""
        super().reset(seed=seed)
        observations, infos = self._one.reset(seed=seed)
        return observations[0], {name: int(values[0]) for name, values in infos.items()}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """One decision."""
        observations, rewards, _, ended, infos = self._one.step(np.asarray(action)[None])
        told: dict[str, Any] = {"asked": int(infos["asked"][0]), "candidates": int(infos["candidates"][0])}
        if ended[0]:
            told["result"] = infos["result"][0]
        return observations[0], float(rewards[0]), False, bool(ended[0]), told
