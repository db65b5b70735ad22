"""Fleets: each volume of many traces as a device of its own, on any executor."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from . import _native, _work
from . import policy as _policy
from . import trace as _trace
from ._dataset import Dataset
from ._places import Options, Places, shared
from ._pool import Executors, Pool
from ._progress import Progress, Telling
from ._sweep import absolute, several
from ._words import Setting, Words, words
from .results import Fleet

_PARTS = 4
"""Parts a worker, so that the last ones end together."""


def fleet(
    traces: _trace.TraceLike | Sequence[_trace.TraceLike],
    policies: _policy.PolicyLike | Sequence[_policy.PolicyLike] | None = None,
    *,
    store: str | os.PathLike[str] | None = None,
    dataset: str | os.PathLike[str] | None = None,
    storage_options: Options = None,
    executor: Executors = None,
    partitions: int | None = None,
    progress: Progress = None,
    **settings: Setting,
) -> Fleet:
    """Takes each volume of the traces as a device of its own: percentiles over the volumes, and the share of
    them on which each policy is best. The figures are those of ``thermocline compare --per-volume``.

    Without ``executor`` all cores of this machine work. With one (as of :func:`sweep`) a job is one of
    ``partitions``, by default four a worker: some of the traces. Of a single trace, or where more partitions are
    asked for than there are traces, it is some of the volumes, and every worker reads that trace whole: take a large
    one apart by ``thermocline trace split`` before. Traces and ``storage_options`` are those of :func:`sweep`.

    The rows, one for each volume and policy, stream into the folder ``dataset`` as Parquet, in place of what was
    there; without it they stay in memory. The summaries need a few numbers of each volume. ``store`` names a folder
    that workers share: a volume that is in it is not computed again. A part that fails is in ``failures``, and does
    not stop the others.
    """
    store = absolute(store) if store is not None else None
    places = Places(several(traces), storage_options)
    given = _policy.Given(stored=store is not None)
    chosen = _policy.chosen(policies, given)
    said = tuple(words({"policies": chosen, "per_volume": True, **settings}))
    rows = None if dataset is None else Dataset(dataset, storage_options)
    with Telling(progress) as listener:
        if executor is None and not any("://" in name for name in places.names):
            said = (*said, *words({"trace": places.names, "store": store}))
            ended = _Ended(1, rows)
            ended.add(0, _native.fleet(said, {}, places.memories, listener))
            return ended.fleet()
        with Pool(executor, in_flight=None) as pool:
            sent = () if pool.local else given.parcel()
            return _spread(pool, places, said, sent, store, rows, partitions, listener)


def _spread(
    pool: Pool,
    places: Places,
    said: Words,
    policies: _policy.Parcel,
    folder: str | None,
    dataset: Dataset | None,
    partitions: int | None,
    listener: Any,
) -> Fleet:
    """Runs the parts, a thread each."""
    said = (*(word for word in said if word[0] != "threads"), ("threads", "1"))
    parts = list(_parts(places.names, said, partitions, _PARTS * pool.width, folder))
    ended = _Ended(len(parts), dataset)

    def run(marker: str | None) -> None:
        jobs = (replace(one, marker=marker, policies=policies) for one in parts)

        def arguments(part: _work.Part) -> tuple[Any, ...]:
            return part, *(places.placed(name, pool) for name in part.traces)

        for part, outcome, error in pool.run(_work.fleet, jobs, arguments, places.forget):
            told, error, _, notes, _ = outcome or _work.Outcome(None, error, False)
            for note in notes:
                listener("note", note)
            if told is None:
                ended.failures.append((", ".join(part.traces), error or ""))
            else:
                ended.add(part.number, told)
            ended.done += 1
            listener("progress", "fleet", ended.done, len(parts), "parts")

    try:
        places.digest(pool)
        if folder is None:
            run(None)
        else:
            with shared(folder) as marker:
                run(marker)
    finally:
        places.close()
    if len(ended.failures) == len(parts):
        raise _native.FailedError(ended.failures[0][1])
    return ended.fleet()


def _parts(
    names: Sequence[str], said: Words, wanted: int | None, usual: int, store: str | None
) -> Iterator[_work.Part]:
    """Groups of traces; shards of each where more parts are wanted than there are traces, or there is one."""
    most = wanted or usual
    if len(names) >= most or (wanted is None and len(names) > 1):
        most = min(most, len(names))
        for number in range(most):
            group = names[len(names) * number // most : len(names) * (number + 1) // most]
            yield _work.Part(number, tuple(said), tuple(group), store)
        return
    shards = math.ceil(most / max(len(names), 1))
    for at, name in enumerate(names):
        for shard in range(shards):
            shown = (*said, ("shard", f"{shard + 1}/{shards}"))
            yield _work.Part(at * shards + shard, shown, (name,), store)


class _Ended:
    """Parts that have ended."""

    def __init__(self, parts: int, dataset: Dataset | None) -> None:
        self._sums = _native.Summing(parts)
        self._rows: dict[int, _native.Table] = {}
        self._dataset = dataset
        if dataset is not None:
            dataset.clear()
        self.failures: list[tuple[str, str]] = []
        self.done = 0

    def add(self, number: int, told: str) -> None:
        rows = self._sums.add(number, told)
        if self._dataset is None:
            self._rows[number] = rows
        elif len(rows):
            self._dataset.write(f"part-{number:06}.parquet", rows)

    def fleet(self) -> Fleet:
        summaries, failed = self._sums.summaries()
        rows = tuple(self._rows[number] for number in sorted(self._rows))
        where = self._dataset
        if where is None:
            return Fleet(tuple(json.loads(summaries)), failed, tuple(self.failures), rows)
        return Fleet(tuple(json.loads(summaries)), failed, tuple(self.failures), rows, where.where, where.options)
