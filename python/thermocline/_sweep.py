"""Sweeps: a grid of settings on any executor."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Union, cast, overload

from . import _native, _work
from . import policy as _policy
from ._dataset import Dataset
from ._places import Options, Places, shared
from ._pool import Executors, Pool
from ._progress import Progress, Telling
from ._words import Setting, axes_of, numbers_of
from .results import Searched, Sweep

STORE = "thermocline.store"


def several(traces: Any) -> list[Any]:
    """Traces, given as one or as several."""
    if traces is None:
        return []
    return list(cast("Sequence[Any]", traces)) if isinstance(traces, (list, tuple)) else [traces]


def absolute(folder: str | os.PathLike[str]) -> str:
    """A folder as other processes know it."""
    if "://" in str(folder):
        raise _native.UsageError(
            f"store={str(folder)!r} is an address; a store is a folder, which workers may share. dataset= takes addresses"
        )
    return os.path.abspath(str(folder))


_Grid = Mapping[str, Union[Setting, _policy.PolicyLike, Sequence[Union[Setting, _policy.PolicyLike]]]]


@overload
def sweep(
    grid: _Grid,
    *,
    until: str,
    tolerance: float | str | None = None,
    store: str | os.PathLike[str] = STORE,
    storage_options: Options = None,
    seeds: int = 1,
    progress: Progress = None,
) -> Searched: ...


@overload
def sweep(
    grid: _Grid,
    *,
    store: str | os.PathLike[str] = STORE,
    dataset: str | os.PathLike[str] | None = None,
    storage_options: Options = None,
    executor: Executors = None,
    in_flight: int | None = None,
    seeds: int = 1,
    history: bool = False,
    progress: Progress = None,
) -> Sweep: ...


def sweep(
    grid: _Grid,
    *,
    until: str | None = None,
    tolerance: float | str | None = None,
    store: str | os.PathLike[str] = STORE,
    dataset: str | os.PathLike[str] | None = None,
    storage_options: Options = None,
    executor: Executors = None,
    in_flight: int | None = None,
    seeds: int = 1,
    history: bool = False,
    progress: Progress = None,
) -> Sweep | Searched:
    """Runs every combination of settings: ``sweep({"workload": "uniform", "policy": ["greedy", "cat"],
    "over_provisioning": "5%..25%/5%"}, store="results")``.

    Cells, digests and the folder ``store`` are those of ``thermocline sweep``: what is in the store is not computed
    again, whoever put it there, and each result is there as soon as it is known. By default a thread a core works.

    ``executor`` is any executor of ``concurrent.futures`` (Dask: ``client.get_executor()``), a pool of
    ``multiprocessing``, ``joblib.Parallel(n_jobs=...)``, Ray's module, an executor of submitit, or a function that makes an
    executor, which is called again when a process pool breaks. At most ``in_flight`` cells are submitted at a time
    (by default four a worker, 64 at least), so neither the caller nor a scheduler holds the whole grid. A worker that
    reaches the store keeps its results there itself; others send them. A cell that fails has its error and does not
    stop the others. Cells of workers that died run again, twice at most; so do cells that a scheduler forgot.

    Policies of the user's own go to workers as pickles (Dask and loky take classes of a notebook, too; process pools
    only those of a module), those of a C library by its path; each has a ``version``.

    ``grid["trace"]`` is a trace or a list of them: paths that workers can read, addresses that fsspec opens
    (``s3://bucket/a.csv.gz``: fetched once a machine, into ~/.cache/thermocline), traces in memory (sent to each
    worker once). Cells of a trace that is missing fail, the others run. ``storage_options`` is what fsspec makes the file
    systems of addresses with, as polars and pandas have it: keys, an endpoint.

    ``dataset`` is a folder, or an address that pyarrow knows (with ``storage_options`` fsspec), into which results stream as
    Parquet: a file a batch, the columns of ``thermocline sweep`` behind one of digests, and ``failed.parquet``. A row that
    is there is not written again.

    Several calls may work on one store at the same time, also on several machines: each cell is computed once, and
    each row of a data set that they share is written once.

    With ``history`` the store keeps how each run went as well (:meth:`Sweep.history`). A cell whose result is there without
    its history runs again.

    With ``until`` (``"write_amplification<=1.5"``) not every cell runs: one setting is a range without a step
    (``"over_provisioning": "5%..40%"``), and for each combination of the others the value from which the condition holds
    is searched, to ``tolerance``. It runs on this machine, because each value that is tried depends on the one before.
    """
    if until is not None:
        if executor is not None or dataset is not None or history:
            raise _native.UsageError("until= searches on this machine; leave executor=, dataset= and history= out")
        return _searched(grid, until, tolerance, store, storage_options, seeds, progress)
    if tolerance is not None:
        raise _native.UsageError("tolerance= is that of a search; give until= too")
    given = _policy.Given(stored=True)
    asked = given.settings(grid)
    places = Places(several(asked.pop("trace", None)), storage_options)
    axes = [("trace", places.names)] if places.names else []
    axes += axes_of(asked)
    folder = absolute(store)
    with Telling(progress) as listener, Pool(executor, in_flight) as pool, shared(folder) as marker:
        try:
            places.digest(pool)
            plan = _native.plan(axes, seeds, list(places.digests.items()), places.memories, listener)
            plan = _told(plan, places.missing)
            done = _Done(plan, folder, None if dataset is None else Dataset(dataset, storage_options, folder))
            cells = _missing(plan, folder, marker, done, history)
            if pool.local:
                jobs = cells
            else:
                jobs = (replace(cell, policies=given.parcel(value for _, value in cell.pairs)) for cell in cells)

            def arguments(cell: _work.Cell) -> tuple[Any, ...]:
                return cell, places.placed(dict(cell.pairs).get("trace"), pool)

            for cell, outcome, error in pool.run(_work.execute, jobs, arguments, places.forget):
                outcome = outcome or _work.Outcome(None, error, False)
                for note in outcome.notes:
                    listener("note", note)
                done.take(cell, outcome)
                listener("progress", "sweep", done.cells, len(plan), "simulations")
            done.finish()
        finally:
            places.close()
    return Sweep(plan, folder, done.errors, done.computed, numbers_of(asked))


def _searched(
    grid: _Grid,
    until: str,
    tolerance: float | str | None,
    store: str | os.PathLike[str],
    storage_options: Options,
    seeds: int,
    progress: Progress,
) -> Searched:
    given = _policy.Given(stored=True)
    asked = given.settings(grid)
    places = Places(several(asked.pop("trace", None)), storage_options)
    axes = [("trace", places.local())] if places.names else []
    axes += axes_of(asked)
    step = None if tolerance is None else str(tolerance)
    with Telling(progress) as listener:
        told = json.loads(_native.search(axes, seeds, until, step, absolute(store), places.memories, listener))
        for note in told["notes"]:
            listener("note", note)
    return Searched(
        until, dict(told["found"]), tuple(told["sentences"]), told["complete"], told["computed"], tuple(told["tried"])
    )


def _told(plan: _native.Plan, missing: Mapping[str, str]) -> _native.Plan:
    """The plan with the reasons why traces at addresses are not there."""
    if not missing:
        return plan
    _, (axes, digests) = plan.__reduce__()
    for at in range(len(plan)):
        why = missing.get(dict(plan.cell(at)[1]).get("trace") or "")
        if why is not None:
            digests[at] = (None, why)
    return _native.Plan.again(axes, digests)


class _Done:
    """What is known of the cells so far: of those that are done little more than a number stays."""

    def __init__(self, plan: _native.Plan, folder: str, dataset: Dataset | None) -> None:
        self.plan = plan
        self.folder = folder
        self.errors: dict[str, str] = {}
        self.computed = 0
        self.cells = 0
        self.flying: dict[str, list[int]] = {}
        """Cells that wait for a digest, by the digest."""
        self.dataset = dataset
        if dataset is not None:
            dataset.table = self.rows

    def rows(self, cells: list[int]) -> _native.Table:
        """Rows of the data set."""
        return self.plan.table(self.folder, self.errors, cells, True)

    def add(self, at: int, digest: str) -> None:
        """The store has the result of a cell."""
        self.cells += 1
        if self.dataset is not None:
            _, pairs = self.plan.cell(at)
            self.dataset.add(at, digest, {name: value or "" for name, value in pairs})

    def take(self, cell: _work.Cell, outcome: _work.Outcome) -> None:
        """Takes what came of a digest."""
        told, error, computed, _, history = outcome
        waiting = self.flying.pop(cell.digest, [])
        if error is not None:
            self.errors[cell.digest] = error
            self.cells += len(waiting)
            return
        if told is not None:
            _native.keep(self.folder, cell.digest, cell.pairs, told, history)
        self.computed += computed
        for at in waiting:
            self.add(at, cell.digest)

    def finish(self) -> None:
        """Writes the rest of the data set."""
        if self.dataset is None:
            return
        self.dataset.flush()
        digests = (self.plan.digest(at) for at in range(len(self.plan)))
        failed = [at for at, (digest, why) in enumerate(digests) if why or digest in self.errors]
        self.dataset.failures(failed)


def _missing(plan: _native.Plan, folder: str, marker: str, done: _Done, history: bool) -> Iterator[_work.Cell]:
    """Cells that the store has no result of, one for each digest. Who comes second begins at the other end, so that
    two do not wait for each other's cells."""
    second = any(name.startswith(".shared-") and name != os.path.basename(marker) for name in os.listdir(folder))
    for at in reversed(range(len(plan))) if second else range(len(plan)):
        digest, _ = plan.digest(at)
        if digest is None or digest in done.errors:
            done.cells += 1
        elif digest in done.flying:
            done.flying[digest].append(at)
        elif _native.has(folder, digest, history):
            done.add(at, digest)
        else:
            done.flying[digest] = [at]
            yield _work.Cell(plan.cell(at)[1], digest, folder, marker, history=history)
