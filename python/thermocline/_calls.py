"""The calls of the package."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from typing import Any, cast

from . import _native
from . import policy as _policy
from . import trace as _trace
from ._progress import Progress, Telling
from ._words import Setting, option, texts, words
from .results import Comparison, Fleet, Result, Sweep, history_of

_Memories = dict[str, _native.Memory]
_MANY = (list, tuple)


def _opened(traces: Iterable[_trace.TraceLike]) -> tuple[list[str], _Memories]:
    names: list[str] = []
    memories: _Memories = {}
    for one in traces:
        opened = _trace.open(one)
        if isinstance(opened, _trace.Trace):
            if memories.get(opened.name, opened._memory) is not opened._memory:
                raise _native.UsageError(f"two traces are called {opened.name}; name them by trace.open(name=)")
            memories[opened.name] = opened._memory
            names.append(opened.name)
        else:
            names.append(opened)
    return names, memories


def _listed(traces: Any) -> list[Any]:
    if traces is None:
        return []
    return list(cast("Sequence[Any]", traces)) if isinstance(traces, _MANY) else [traces]


def run(
    trace: _trace.TraceLike | None = None,
    policy: _policy.PolicyLike | None = None,
    *,
    history: bool = False,
    progress: Progress = None,
    **settings: Setting | _policy.PolicyLike,
) -> Result:
    """Runs one policy on one input.

    ``trace`` is what :func:`thermocline.trace.open` takes; or give ``workload="hot-cold:90/10"``. Settings are
    the options of ``thermocline run`` with underscores: ``over_provisioning="7%"``, ``device="slc-generic"``,
    ``ops="-trim"``, ``seed=2``, ``check=True``. ``policy``, ``victim`` and ``placement`` are names or objects of
    :mod:`thermocline.policy`; what such an object raises is raised here. With ``history`` the result has time series. ``progress`` is
    true, false, by default a line where stderr is a terminal, or a function that is told
    ``("progress", message, done, total, unit)`` and ``(kind, text)``.

    Raises :class:`~thermocline.UsageError`, :class:`~thermocline.InputError`,
    :class:`~thermocline.FailedError`; ``KeyboardInterrupt`` after Ctrl-C, when the run has stopped.
    """
    names, memories = _opened([] if trace is None else [trace])
    given = _policy.Given()
    said = words({"trace": names, **given.settings({"policy": policy, **settings})})
    with Telling(progress) as listener:
        told = json.loads(_native.run(said, memories, listener, history))
    return Result(told["result"], tuple(told["notes"]), history_of(told["history"]))


def compare(
    trace: _trace.TraceLike | Sequence[_trace.TraceLike] = None,
    policies: _policy.PolicyLike | Sequence[_policy.PolicyLike] | None = None,
    *,
    progress: Progress = None,
    **settings: Setting | _policy.PolicyLike,
) -> Comparison:
    """Runs several policies (by default all presets that can be built) on one trace or a list of them, in
    parallel, beside the oracle. Settings are the options of ``thermocline compare``."""
    names, memories = _opened(_listed(trace))
    given = _policy.Given()
    chosen = _policy.chosen(policies, given)
    said = words({"trace": names, "policies": chosen, **given.settings(settings)})
    with Telling(progress) as listener:
        told = json.loads(_native.compare(said, memories, listener))
    listed = told["listed"]
    return Comparison(
        tuple(Result(one) for one in listed["runs"]),
        listed["answer"],
        tuple(listed.get("failures", ())),
        tuple(told["notes"]),
    )


def fleet(
    traces: _trace.TraceLike | Sequence[_trace.TraceLike],
    policies: _policy.PolicyLike | Sequence[_policy.PolicyLike] | None = None,
    *,
    progress: Progress = None,
    **settings: Setting,
) -> Fleet:
    """Takes each volume of the traces as a device of its own: percentiles over the volumes, and the share of
    them on which each policy is best. ``store=`` names a folder: what is in it is not computed again."""
    names, memories = _opened(_listed(traces))
    given = _policy.Given(stored="store" in settings)
    chosen = _policy.chosen(policies, given)
    said = words({"trace": names, "policies": chosen, "per_volume": True, **settings})
    with Telling(progress) as listener:
        told = json.loads(_native.fleet(said, memories, listener))
    return Fleet(tuple(told["rows"]), tuple(told["summaries"]), told["failed"])


def _execute(pairs: list[tuple[str, str | None]], memories: _Memories) -> tuple[str | None, str | None]:
    """A cell on a worker: its result or why there is none."""
    try:
        return _native.execute(pairs, memories, None), None
    except _native.BrokenError:
        raise
    except _native.ThermoclineError as error:
        return None, str(error)


def sweep(
    grid: Mapping[str, Setting | _policy.PolicyLike | Sequence[Setting | _policy.PolicyLike]],
    *,
    store: str | os.PathLike[str],
    executor: Executor | None = None,
    seeds: int = 1,
    progress: Progress = None,
) -> Sweep:
    """Runs every combination of settings: ``sweep({"workload": "uniform", "policy": ["greedy", "cat"],
    "over_provisioning": "5%..25%/5%"}, store="results")``.

    Cells, digests and store are those of ``thermocline sweep``: what is in the folder ``store`` is not computed
    again, whoever put it there, and what comes in is kept at once. By default a thread a core works; ``executor`` is any executor of
    ``concurrent.futures`` (Dask: ``client.get_executor()``); traces must be paths that its workers can read,
    unless they are threads. So must be names of policies; objects of :mod:`thermocline.policy` need a ``version``,
    by which the store knows them. A cell that fails has its ``error`` and does not stop the others; cells of workers
    that died run again, twice at most.
    """
    given = _policy.Given(stored=True)
    asked = given.settings(grid)
    names, memories = _opened(_listed(asked.pop("trace", None)))
    axes = [("trace", names)] if names else []
    for name, value in asked.items():
        if value is not None and value is not False:
            axes.append((option(name), [] if value is True else texts(value)))
    with Telling(progress) as listener:
        planned = _native.plan(axes, seeds, memories, listener)
        if planned and all(error for *_, error in planned):
            raise _native.UsageError(planned[0][3])
        results: dict[str, Any] = {}
        missing: dict[str, list[tuple[str, str | None]]] = {}
        for _, pairs, digest, _ in planned:
            if digest is not None and digest not in results and digest not in missing:
                kept = _native.stored(store, digest)
                if kept is None:
                    missing[digest] = pairs
                else:
                    results[digest] = json.loads(kept)
        errors: dict[str, str] = {}
        done = 0

        def take(digest: str, outcome: tuple[str | None, str | None]) -> None:
            nonlocal done
            result, error = outcome
            done += 1
            if result is None:
                errors[digest] = error or ""
            else:
                _native.store(store, digest, missing[digest], result)
                results[digest] = json.loads(result)
            listener("progress", "sweep", done, len(missing), "simulations")

        if executor is None:
            with ThreadPoolExecutor(os.cpu_count()) as threads:
                _scatter(threads, missing, memories, take)
        else:
            _scatter(executor, missing, memories, take)
    cells: list[dict[str, Any]] = []
    for name, pairs, digest, error in planned:
        cell: dict[str, Any] = {"name": name, "digest": digest}
        cell["settings"] = {option: "yes" if value is None else value for option, value in pairs}
        why = error or errors.get(digest or "")
        cell |= {"error": why} if why else {"result": results.get(digest or "")}
        cells.append(cell)
    return Sweep(tuple(cells), done - len(errors))


def _scatter(executor: Executor, missing: Mapping[str, Any], memories: _Memories, take: Any) -> None:
    if memories and not isinstance(executor, ThreadPoolExecutor):
        raise _native.UsageError(
            "traces in memory stay in this process; write them to a file that the workers can read"
        )
    tries = dict.fromkeys(missing, 0)
    futures: dict[Future[Any], str] = {executor.submit(_execute, missing[d], memories): d for d in missing}
    try:
        while futures:
            for future in as_completed(list(futures)):
                digest = futures.pop(future)
                broken = future.exception()
                if broken is None:
                    take(digest, future.result())
                    continue
                tries[digest] += 1
                if isinstance(broken, _native.BrokenError) or tries[digest] > 2:
                    take(digest, (None, f"its worker failed: {broken!r}"))
                    continue
                try:
                    futures[executor.submit(_execute, missing[digest], memories)] = digest
                except RuntimeError:
                    take(digest, (None, f"its worker failed: {broken!r}"))
    finally:
        for future in futures:
            future.cancel()


def reproduce(
    what: str | Sequence[str],
    *,
    quick: bool = False,
    traces: Sequence[str | os.PathLike[str]] = (),
    progress: Progress = None,
) -> dict[str, Any]:
    """Runs papers' experiments (``"cat"``, ``"cat/table-4"``, ``"all"``) and holds each published figure beside
    ours: what ``thermocline reproduce --json`` prints."""
    with Telling(progress) as listener:
        return json.loads(_native.reproduce(texts(what), quick, list(traces), listener))


def policies() -> list[dict[str, Any]]:
    """Presets, victim policies, placements and the rest, with parameters and sources."""
    return json.loads(_native.listed("policies"))


def devices() -> list[dict[str, Any]]:
    """Built-in devices, with their figures and sources."""
    return json.loads(_native.listed("devices"))


def workloads() -> list[dict[str, Any]]:
    """Workloads that can be generated."""
    return json.loads(_native.listed("workloads"))


def settings(of: str = "run") -> list[dict[str, Any]]:
    """The settings of :func:`run` (or ``"compare"``): name, help, default."""
    names = ("name", "help", "value", "default", "repeats", "heading")
    return [
        dict(zip(names, (one[0].replace("-", "_"), *one[1:]), strict=True)) for one in _native.options(of)
    ]
