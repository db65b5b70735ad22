"""Traces: from files, from memory, generated.

A trace in memory has four columns: ``time`` (nanoseconds), ``op`` (0 read, 1 write, 2 trim, 3 flush; in
tables also words), ``offset`` and ``length`` (bytes).
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union, cast

from . import _native
from ._words import Setting, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Trace", "TraceLike", "generate", "info", "open"]

COLUMNS = ("time", "op", "offset", "length")

_numbers = itertools.count(1)


class Trace:
    """A trace in memory. Make one by :func:`open`; any number of runs may share it.

    Arrays and Arrow buffers are not copied where their types fit (``uint64`` or non-negative ``int64``,
    ``op`` as ``uint8``). A run reads them once, before it simulates; who writes to an array meanwhile gets
    the result of other requests, or an :class:`~thermocline.InputError`, and never a crash.
    """

    def __init__(self, memory: _native.Memory, name: str) -> None:
        self._memory = memory
        self.name = name

    def __len__(self) -> int:
        """How many requests there are."""
        return len(self._memory)

    def __reduce__(self) -> tuple[Any, ...]:
        """Its arrays go along to other processes."""
        return _rebuilt, (self.name, *self._memory.arrays())

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {len(self):,} requests)"


def _rebuilt(name: str, *columns: NDArray[Any]) -> Trace:
    opened = open(dict(zip(COLUMNS, columns, strict=True)), name=name)
    assert isinstance(opened, Trace)
    return opened


TraceLike = Union[str, os.PathLike[str], Trace, Mapping[str, Any], Any]


def _column(name: str, values: ArrayLike, dtype: type[Any]) -> NDArray[Any]:
    import numpy as np

    array: NDArray[Any] = np.asarray(values)
    if array.ndim != 1:
        raise _native.UsageError(f"{name} has {array.ndim} dimensions; give a flat array")
    if array.dtype.kind == "M":
        array = array.astype("datetime64[ns]").view(np.int64)
    if array.dtype.kind == "m":
        array = array.astype("timedelta64[ns]").view(np.int64)
    if array.dtype.kind not in "iu":
        raise _native.UsageError(f"{name} is of {array.dtype}; give whole numbers, as by .astype('{np.dtype(dtype)}')")
    if array.size and (int(array.min()) < 0 or int(array.max()) > np.iinfo(dtype).max):
        raise _native.InputError(
            f"{name} goes from {array.min()} to {array.max()}; it must lie between 0 and {np.iinfo(dtype).max}"
        )
    fits = array.dtype.itemsize == np.dtype(dtype).itemsize and array.dtype.isnative
    # Numbers at odd addresses are copied: Dask's frames have them, and records.
    if fits and array.flags.aligned:
        return array.view(dtype)
    return array.astype(dtype)


def _ops(values: ArrayLike) -> NDArray[np.uint8]:
    import numpy as np

    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind in "OSUT":
        codes = {"read": 0, "r": 0, "write": 1, "w": 1, "trim": 2, "discard": 2, "d": 2, "flush": 3, "f": 3}
        try:
            return np.array([codes[str(word).lower()] for word in array], dtype=np.uint8)
        except KeyError as word:
            raise _native.InputError(f"op {word} is unknown; write read, write, trim or flush") from None
    return _column("op", array, np.uint8)


def open(
    source: TraceLike = None,
    *,
    time: ArrayLike | None = None,
    op: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    length: ArrayLike | None = None,
    name: str | None = None,
) -> Trace | str:
    """Opens a trace.

    ``source`` is a path (its format is recognised; see ``thermocline trace formats``), a mapping of
    the four columns, or anything with ``__arrow_c_stream__``: tables and dataframes of pyarrow, polars, pandas,
    DuckDB. Arrays may be given by their names instead; without ``time`` all requests arrive at once, without
    ``op`` all are writes.

    Raises :class:`~thermocline.UsageError` where a column is missing or of a wrong type, and
    :class:`~thermocline.InputError` where a value is none that a trace has.
    """
    if isinstance(source, Trace):
        return source
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(cast("str | os.PathLike[str]", source))
    name = name or f"memory:{next(_numbers)}"
    if source is not None and hasattr(source, "__arrow_c_stream__"):
        table: Any = source
        return Trace(_native.Memory.of_arrow(table.__arrow_c_stream__()), name)
    if isinstance(source, Mapping):
        columns = cast("Mapping[str, ArrayLike]", source)
        unknown = set(columns) - set(COLUMNS)
        if unknown:
            raise _native.UsageError(f"a trace has no column {sorted(unknown)}; it has time, op, offset, length")
        time, op = columns.get("time"), columns.get("op")
        offset, length = columns.get("offset"), columns.get("length")
    elif source is not None:
        raise _native.UsageError(f"{type(source).__name__} is no trace; give a path, arrays or an Arrow table")
    if offset is None or length is None:
        raise _native.UsageError("a trace in memory needs offset and length")
    import numpy as np

    offsets, lengths = _column("offset", offset, np.uint64), _column("length", length, np.uint64)
    times = np.zeros(len(offsets), np.uint64) if time is None else _column("time", time, np.uint64)
    ops = np.ones(len(offsets), np.uint8) if op is None else _ops(op)
    return Trace(_native.Memory.of_arrays(times, ops, offsets, lengths), name)


def info(trace: TraceLike, **settings: Setting) -> dict[str, Any]:
    """What is in a trace, by the keys of ``thermocline trace info --json``: requests, bytes, footprint,
    updates, sizes. Settings are those that read or change a trace: ``volume=``, ``ops=``, ``limit=``."""
    opened = open(trace)
    if isinstance(opened, Trace):
        return json.loads(_native.trace_info(opened.name, words(settings), {opened.name: opened._memory}, None))
    return json.loads(_native.trace_info(opened, words(settings), {}, None))


def generate(workload: str, **settings: Setting) -> dict[str, NDArray[Any]]:
    """A generated trace as four arrays, for :func:`open`: ``generate("hot-cold:90/10", span="64MiB", seed=2)``.

    Settings are those of ``thermocline trace generate``: ``span``, ``bytes``, ``request``, ``page_size``,
    ``interarrival``, ``reads``, ``seed``.
    """
    return _native.generate(workload, words(settings))
