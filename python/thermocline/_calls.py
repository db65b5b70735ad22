"""The calls of the package."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from . import policy as _policy
from . import trace as _trace
from ._places import Options, Places
from ._progress import Progress, Telling
from ._sweep import several
from ._words import texts, words
from .results import Comparison, Result, history_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import CompareSettings, RunSettings


def run(
    trace: _trace.TraceLike | None = None,
    policy: _policy.PolicyLike | None = None,
    *,
    history: bool = False,
    storage_options: Options = None,
    progress: Progress = None,
    **settings: Unpack[RunSettings],
) -> Result:
    """Runs one policy on one input.

    ``trace`` is what :func:`thermocline.trace.open` takes, or an address that fsspec opens, with ``storage_options`` as of
    polars and pandas; or give ``workload="hot-cold:90/10"``. Settings are
    the options of ``thermocline run`` with underscores: ``over_provisioning="7%"``, ``device="slc-generic"``,
    ``ops="-trim"``, ``seed=2``, ``check=True``. ``policy``, ``victim`` and ``placement`` are names or objects of
    :mod:`thermocline.policy`; what such an object raises is raised here. With ``history`` the result has time series. ``progress`` is
    true, false, by default a line where stderr is a terminal, or a function that is called with
    ``("progress", message, done, total, unit)`` and ``(kind, text)``. Without such a function notes are
    :class:`~thermocline.ThermoclineWarning`; ``result.notes`` has those on the result.

    Raises :class:`~thermocline.UsageError`, :class:`~thermocline.InputError`,
    :class:`~thermocline.FailedError`; ``KeyboardInterrupt`` after Ctrl-C, when the run has stopped.
    """
    places = Places([] if trace is None else [trace], storage_options)
    given = _policy.Given()
    said = words({"trace": places.local(), **given.settings({"policy": policy, **settings})})
    with Telling(progress) as listener:
        told = json.loads(_native.run(said, places.memories, listener, history))
        for note in told["notes"]:
            listener("note", note)
    return Result(told["result"], tuple(told["notes"]), history_of(told["history"]) if history else None)


def compare(
    trace: _trace.TraceLike | Sequence[_trace.TraceLike] = None,
    policies: _policy.PolicyLike | Sequence[_policy.PolicyLike] | None = None,
    *,
    history: bool = False,
    storage_options: Options = None,
    progress: Progress = None,
    **settings: Unpack[CompareSettings],
) -> Comparison:
    """Runs several policies (by default all presets that can be built) on one trace or a list of them, in
    parallel, beside the oracle. With ``history`` the results have time series: of several seeds, the first. Settings are the
    options of ``thermocline compare``."""
    places = Places(several(trace), storage_options)
    given = _policy.Given()
    chosen = _policy.chosen(policies, given)
    said = words({"trace": places.local(), "policies": chosen, **given.settings(settings)})
    with Telling(progress) as listener:
        told = json.loads(_native.compare(said, places.memories, listener, history))
        for note in told["notes"]:
            listener("note", note)
    listed = told["listed"]
    return Comparison(
        tuple(
            Result(one, history=None if past is None else history_of(past)) for one, past in zip(listed["runs"], told["histories"], strict=True)
        ),
        listed["answer"],
        tuple(listed.get("failures", ())),
        tuple(told["notes"]),
    )


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


def devices() -> list[dict[str, Any]]:
    """Built-in devices, with their figures and sources."""
    return json.loads(_native.listed("devices"))


def workloads() -> list[dict[str, Any]]:
    """Workloads that can be generated."""
    return json.loads(_native.listed("workloads"))


def settings(of: str = "run") -> list[dict[str, Any]]:
    """The settings of :func:`run` (or ``"compare"``): name, help, default."""
    if of not in ("run", "compare"):
        raise _native.UsageError(f"there are no settings of {of!r}; ask for those of 'run' or 'compare'")
    names = ("name", "help", "value", "default", "repeats", "heading")
    return [
        dict(zip(names, (one[0].replace("-", "_"), *one[1:]), strict=True)) for one in _native.options(of)
    ]
