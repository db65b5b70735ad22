"""Many jobs on any executor of ``concurrent.futures``, few of them in flight.

Invariants:

* Of any number of jobs only so many are submitted at a time; the others are made when there is room for them.
* A job whose worker died runs again, and so does one whose scheduler forgot it; what a job returns is its end.
"""

from __future__ import annotations

import collections
import os
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Union, cast

from ._native import FailedError

Executors = Union[Executor, Callable[[], Executor], None]

_DEATHS = 2
"""Times that a job runs again because its worker died under it, or it raised what workers do not."""
_LOSSES = 20
"""Times that a job is submitted again because a scheduler forgot it."""
_PAUSE = 0.25
"""Seconds before what was lost is submitted again."""


@dataclass
class _Flight:
    job: Any
    deaths: int = 0
    losses: int = 0


class Pool:
    """An executor: the caller's, one that the caller's function makes (again, where one broke), or a thread a core."""

    def __init__(self, executor: Executors, in_flight: int | None = None) -> None:
        self._make = executor if executor is not None and not isinstance(executor, Executor) else None
        self._own = executor is None
        self.executor: Executor = (
            executor if isinstance(executor, Executor) else self._make() if self._make else ThreadPoolExecutor(os.cpu_count())
        )
        self.width = _width(self.executor)
        self._most = max(in_flight or max(4 * self.width, 64), 1)

    @property
    def local(self) -> bool:
        """Jobs run in this process."""
        return isinstance(self.executor, ThreadPoolExecutor)

    @property
    def client(self) -> Any:
        """The client of Dask, if it is Dask's executor."""
        client = getattr(self.executor, "_client", None)
        return client if hasattr(client, "scatter") else None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own or self._make:
            self.executor.shutdown(wait=True, cancel_futures=True)

    def run(
        self,
        work: Callable[..., Any],
        jobs: Iterable[Any],
        arguments: Callable[[Any], tuple[Any, ...]],
        lost: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[Any, Any, str | None]]:
        """What ``work(*arguments(job))`` returns for each job, as it comes: the job, what was returned, or why
        nothing was. ``lost`` is told before jobs whose futures were lost are submitted again.

        Raises :class:`~thermocline.FailedError` where the executor takes no more jobs.
        """
        ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        flying: dict[Future[Any], _Flight] = {}
        again: collections.deque[_Flight] = collections.deque()
        left = iter(jobs)
        try:
            while True:
                while len(flying) < self._most:
                    flight = again.popleft() if again else self._first(left)
                    if flight is None:
                        break
                    future = self._submit(work, arguments(flight.job))
                    flying[future] = flight
                    future.add_done_callback(ended.put)
                if not flying:
                    return
                future = ended.get()
                flight = flying.pop(future)
                if future.cancelled():
                    flight.losses += 1
                    if flight.losses > _LOSSES:
                        yield flight.job, None, "its scheduler lost it again and again"
                        continue
                    if not again:
                        time.sleep(_PAUSE)
                        lost()
                    again.append(flight)
                    continue
                error = future.exception()
                if error is None:
                    yield flight.job, future.result(), None
                    continue
                flight.deaths += 1
                if flight.deaths > _DEATHS:
                    yield flight.job, None, f"its worker failed: {error!r}"
                    continue
                lost()
                again.append(flight)
        finally:
            for future in flying:
                future.cancel()

    @staticmethod
    def _first(jobs: Iterator[Any]) -> _Flight | None:
        for job in jobs:
            return _Flight(job)
        return None

    def _submit(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
        # Dask takes calls of equal functions with equal arguments for one.
        more = {"pure": False} if self.client is not None else {}
        try:
            return self.executor.submit(work, *arguments, **more)
        except BrokenExecutor as error:
            if self._make is None:
                raise FailedError(
                    f"the executor broke: {error}; what is done is kept, so run again; a function that makes an "
                    "executor, in place of one, is called again"
                ) from error
        except RuntimeError as error:
            raise FailedError(f"the executor takes no more jobs: {error}; what is done is kept, so run again") from error
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self._make()
        return self.executor.submit(work, *arguments)


def _width(executor: Executor) -> int:
    """Jobs that it runs at a time, as far as it tells."""
    client = getattr(executor, "_client", None)
    if hasattr(client, "nthreads"):
        return sum(cast("dict[str, int]", cast("Any", client).nthreads()).values()) or 1
    return getattr(executor, "_max_workers", None) or os.cpu_count() or 1
