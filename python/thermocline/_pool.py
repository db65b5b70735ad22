"""Many jobs on any executor of ``concurrent.futures``, few of them in flight.

Invariants:

* Of any number of jobs only so many are submitted at a time; the others are made when there is room for them.
* A job whose worker died runs again, and so does one whose scheduler forgot it; what a job returns is its end.

Of Dask the client itself is asked: its executor leaves a future without an end where the connection breaks just when
a result is fetched.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import os
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Union, cast

from ._executors import adapted
from ._native import FailedError

Executors = Union[Executor, Callable[[], Executor], Any, None]

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
        executor = adapted(executor)
        self.client: Any = next((one for one in (executor, getattr(executor, "_client", None)) if _is_dask(one)), None)
        """The client of Dask, if it is Dask's executor."""
        given = executor is None or isinstance(executor, Executor) or self.client is not None
        self._make = None if given else cast("Callable[[], Executor]", executor)
        self._own = executor is None
        made = self._make() if self._make else executor
        self.executor: Any = ThreadPoolExecutor(os.cpu_count()) if made is None else made
        self.width = self._width()
        self._most = max(in_flight or max(4 * self.width, 64), 1)

    @property
    def local(self) -> bool:
        """Jobs run in this process."""
        return isinstance(self.executor, ThreadPoolExecutor)

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
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        flying: dict[Any, _Flight] = {}
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
                futures = [ended.get()]
                while not ended.empty():
                    futures.append(ended.get())
                for future, value, error in self._outcomes(futures):
                    flight = flying.pop(future)
                    why = self._again(flight, error) if error is not None else ""
                    if why is None:
                        again.append(flight)
                    else:
                        yield flight.job, value, why or None
                if again:
                    lost()
        finally:
            for future in flying:
                future.cancel()

    @staticmethod
    def _again(flight: _Flight, error: BaseException) -> str | None:
        """Why a job whose future failed does not run again; nothing if it does."""
        if isinstance(error, _Lost):
            flight.losses += 1
            time.sleep(_PAUSE)
            return "its scheduler lost it again and again" if flight.losses > _LOSSES else None
        flight.deaths += 1
        return f"its worker failed: {error!r}" if flight.deaths > _DEATHS else None

    def _outcomes(self, futures: list[Any]) -> Iterator[tuple[Any, Any, BaseException | None]]:
        """What futures that have ended returned or raised."""
        if self.client is not None:
            yield from self._gathered(futures)
            return
        for future in futures:
            if future.cancelled():
                yield future, None, _Lost()
            else:
                error = future.exception()
                yield future, None if error else future.result(), error

    def _gathered(self, futures: list[Any]) -> Iterator[tuple[Any, Any, BaseException | None]]:
        """The same of Dask, which keeps results with its workers until they are fetched."""
        fetched: dict[int, Any] = {}
        ready = [future for future in futures if future.status == "finished"]
        if ready:
            # What breaks is the connection, or the worker with the results: they are asked for again.
            with contextlib.suppress(Exception, asyncio.CancelledError):
                fetched = dict(zip(map(id, ready), self.client.gather(ready), strict=True))
        for future in futures:
            if id(future) in fetched:
                yield future, fetched[id(future)], None
            elif future.status == "error":
                yield future, None, future.exception()
            else:
                yield future, None, _Lost()

    @staticmethod
    def _first(jobs: Iterator[Any]) -> _Flight | None:
        for job in jobs:
            return _Flight(job)
        return None

    def _submit(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        try:
            if self.client is not None:
                # Calls of equal functions with equal arguments are one call to Dask.
                options = {**getattr(self.executor, "_kwargs", {}), "pure": False}
                return self.client.submit(work, *arguments, **options)
            return self.executor.submit(work, *arguments)
        except BrokenExecutor as error:
            if self._make is None:
                raise FailedError(
                    f"the executor broke: {error}; what is done is kept, so run again; a function that makes an "
                    "executor, in place of one, is called again"
                ) from error
        except (RuntimeError, ValueError) as error:
            raise FailedError(f"the executor takes no more jobs: {error}; what is done is kept, so run again") from error
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self._make()
        return self.executor.submit(work, *arguments)

    def _width(self) -> int:
        """Jobs that it runs at a time, as far as it tells."""
        if self.client is not None:
            return sum(cast("dict[str, int]", self.client.nthreads()).values()) or 1
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1


class _Lost(Exception):
    """A future has no outcome."""


def _is_dask(executor: Any) -> bool:
    return all(hasattr(executor, name) for name in ("submit", "scatter", "gather", "nthreads"))
