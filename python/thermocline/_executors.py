"""What runs jobs elsewhere, as an executor of ``concurrent.futures``: known by what it can do, not by its type."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

_PAUSE = 0.05
"""Seconds between two looks at jobs that do not say when they end."""


def adapted(executor: Any) -> Any:
    """An executor for what is none: pools of multiprocessing, ``joblib.Parallel``, Ray's module, and anything else whose
    ``submit`` returns a job with ``done`` and ``result`` (submitit). All others as they are."""
    if isinstance(executor, Executor):
        return executor
    if hasattr(executor, "apply_async"):
        return _Pool(executor)
    if hasattr(executor, "n_jobs") and hasattr(executor, "return_as"):
        loky: Any = importlib.import_module("joblib.externals.loky")
        joblib: Any = importlib.import_module("joblib")
        return loky.get_reusable_executor(max_workers=joblib.effective_n_jobs(executor.n_jobs))
    if all(hasattr(executor, name) for name in ("remote", "get", "cluster_resources")):
        return _Ray(executor)
    if hasattr(executor, "submit") and hasattr(executor, "map_array"):
        return _Watched(executor)
    return executor


class _Adapted(Executor):
    """The caller's own is left to the caller."""

    def __init__(self, own: Any, workers: int) -> None:
        self._own = own
        self._max_workers = workers

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """It goes on."""


class _Pool(_Adapted):
    """A pool of multiprocessing. It does not say that a worker died: its job would never end."""

    def __init__(self, pool: Any) -> None:
        super().__init__(pool, getattr(pool, "_processes", None) or os.cpu_count() or 1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._own.apply_async(fn, args, kwargs, future.set_result, future.set_exception)
        return future


class _Ray(_Adapted):
    def __init__(self, ray: Any) -> None:
        super().__init__(ray, int(ray.cluster_resources().get("CPU", 1)))
        self._remote: dict[Any, Any] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        remote = self._remote.setdefault(fn, self._own.remote(fn))
        future: Future[Any] = remote.remote(*args, **kwargs).future()
        return future


class _Watched(_Adapted):
    """Jobs that do not say when they end are asked, all by one thread."""

    def __init__(self, executor: Any) -> None:
        super().__init__(executor, os.cpu_count() or 1)
        self._flying: dict[Future[Any], Any] = {}
        self._lock = threading.Lock()
        self._watches = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        job = self._own.submit(fn, *args, **kwargs)
        with self._lock:
            self._flying[future] = job
            if not self._watches:
                self._watches = True
                threading.Thread(target=self._watch, daemon=True).start()
        return future

    def _watch(self) -> None:
        while True:
            with self._lock:
                flying = list(self._flying.items())
                if not flying:
                    self._watches = False
                    return
            ended = [(future, job) for future, job in flying if job.done()]
            for future, job in ended:
                with self._lock:
                    del self._flying[future]
                # A future that nobody waits for any more was cancelled.
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    future.set_result(job.result())
                except Exception as error:
                    with contextlib.suppress(Exception):
                        future.set_exception(error)
            if not ended:
                time.sleep(_PAUSE)
