"""Traces: from files, from memory, generated.

A trace in memory has the columns ``time`` (nanoseconds), ``op`` (0 read, 1 write, 2 trim, 3 flush, or words),
``offset`` and ``length`` (bytes), or those that a file with a header may have.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union, cast

from . import _native
from ._words import Setting, words

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._places import Options
    from ._stream import Rows

__all__ = ["Trace", "TraceLike", "convert", "generate", "info", "open", "read"]

COLUMNS = ("time", "op", "offset", "length")


class Trace:
    """A trace in memory. Make one by :func:`open`; any number of runs may share it.

    Arrow buffers are not copied, nor are arrays of ``uint64`` or ``int64`` (``op`` of ``uint8``) that are called
    ``time``, ``op``, ``offset`` and ``length``; all others are. A run reads them once, before it simulates. Who writes
    to such an array meanwhile, or resizes it, gets the result of other requests, or an
    :class:`~thermocline.InputError`. The memory of a view is its owner's: an owner that is resized with
    ``refcheck=False`` takes it away from every view, and from a run too.
    """

    def __init__(self, memory: _native.Memory, name: str | None) -> None:
        self._memory = memory
        self._name = name

    @property
    def name(self) -> str:
        """The name that it was given, or ``memory:`` and a digest of what it has when a name is first needed: the same
        columns and values have the same name everywhere."""
        if self._name is None:
            self._name = f"memory:{self._memory.digest()[:16]}"
        return self._name

    def __len__(self) -> int:
        """How many requests there are."""
        return len(self._memory)

    def __reduce__(self) -> tuple[Any, ...]:
        """Its columns go along to other processes."""
        arrays = self._memory.arrays()
        return _rebuilt, (self.name, arrays, self._memory.parcel() if arrays is None else None)

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {len(self):,} requests)"


def _rebuilt(name: str, arrays: Any, parcel: bytes | None) -> Trace:
    if parcel is not None:
        return Trace(_native.Memory.of_ipc(parcel), name)
    columns = dict(zip(COLUMNS, arrays, strict=True))
    return Trace(_table({column: array for column, array in columns.items() if array is not None}), name)


TraceLike = Union[str, os.PathLike[str], Trace, Mapping[str, Any], Any]


def _whole(name: str, array: NDArray[Any], dtypes: Sequence[str]) -> NDArray[Any]:
    """An array of whole numbers as the native module reads it: itself, where it can be."""
    import numpy as np

    most = int(np.iinfo(dtypes[0]).max)
    if array.size and (int(array.min()) < 0 or int(array.max()) > most):
        raise _native.InputError(f"{name} goes from {array.min()} to {array.max()}; it must lie between 0 and {most}")
    # Numbers at odd addresses are copied: Dask's frames have them, and records.
    if array.dtype.name in dtypes and array.dtype.isnative and array.flags.aligned:
        return array
    return array.astype(dtypes[0])


def _cells(name: str, array: NDArray[Any]) -> tuple[str, str, Any]:
    """A column of a table: its name, its kind, and its values."""
    import numpy as np

    kind = array.dtype.kind
    if kind in "mM":
        unit, step = np.datetime_data(array.dtype)
        if unit not in ("s", "ms", "us", "ns") or step != 1:
            unit, array = "ns", array.astype("datetime64[ns]" if kind == "M" else "timedelta64[ns]")
        return name, f"{kind}:{unit}", array.astype(np.int64)
    if kind in "bu":
        return name, "u", array.astype(np.uint64)
    if kind == "i":
        return name, "i", array.astype(np.int64)
    if kind == "f":
        return name, "f", array.astype(np.float64)
    return name, "s", [None if value is None or value != value else _text(value) for value in array.tolist()]


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _table(columns: Mapping[str, ArrayLike]) -> _native.Memory:
    """Of arrays by name: those of our own names and whole numbers as they are, others as a table."""
    import numpy as np

    arrays: dict[str, NDArray[Any]] = {str(name): np.asarray(values) for name, values in columns.items()}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise _native.UsageError(f"{name} has {array.ndim} dimensions; give a flat array")
    if {"offset", "length"} <= set(arrays) <= set(COLUMNS) and all(array.dtype.kind in "iu" for array in arrays.values()):
        whole = {name: _whole(name, array, ("uint64", "int64")) for name, array in arrays.items() if name != "op"}
        op = _whole("op", arrays["op"], ("uint8",)) if "op" in arrays else None
        return _native.Memory.of_arrays(whole.get("time"), op, whole["offset"], whole["length"])
    if not arrays:
        raise _native.UsageError("a trace in memory needs offset and length")
    return _native.Memory.of_columns([_cells(name, array) for name, array in arrays.items()])


_SECTOR = 512
_READS, _DELETE, _NONE = ("OP_GET", "OP_GETS", "OP_READ"), "OP_DELETE", ("OP_NOP", "OP_INVALID")


def _requests_of(reader: Any) -> _native.Memory:
    """The requests of a reader of libCacheSim: object numbers are sectors, clocks are seconds."""
    import numpy as np

    reader.reset()
    words: dict[str, int] = {name: 0 for name in _READS} | {_DELETE: 2}
    told = ((one.clock_time, words.get(one.op.name, 1), one.obj_id, one.obj_size, one.op.name in _NONE) for one in reader)
    kind = np.dtype([("time", "u8"), ("op", "u1"), ("sector", "u8"), ("length", "u8"), ("none", "?")])
    rows = np.fromiter(told, kind)
    reader.reset()
    if rows["none"].any():
        raise _native.InputError(
            f"request {int(rows['none'].argmax()) + 1} of {type(reader).__name__} has a key but no operation, so writes cannot be "
            "told from reads; bring the block trace it was made from, or give the arrays offset= and length= of the writes"
        )
    if rows.size and int(rows["sector"].max()) >= 2**64 // _SECTOR:
        raise _native.InputError(f"{type(reader).__name__}: object {rows['sector'].max()} is no number of a sector; objects must be addresses")
    first = rows["time"].min() if rows.size else 0
    columns = {"time": (rows["time"] - first) * 1_000_000_000, "op": rows["op"], "offset": rows["sector"] * _SECTOR, "length": rows["length"]}
    return _table(columns)


def open(
    source: TraceLike = None,
    *,
    time: ArrayLike | None = None,
    op: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    length: ArrayLike | None = None,
    volume: ArrayLike | None = None,
    name: str | None = None,
) -> Trace | str:
    """Opens a trace.

    ``source`` is a path (its format is recognised; see ``thermocline trace formats``), a mapping of columns, or
    anything with ``__arrow_c_stream__``: tables and dataframes of pyarrow, polars, pandas, DuckDB. Arrays may be given
    by their names instead.

    A table in memory is read by the rules of a file with a header: columns are known by their names, units by the names
    (``timestamp_us``), by the types of Arrow and NumPy (timestamps, durations), or by ``columns=`` and ``time_unit=`` of
    a run; a column of volumes makes several devices (:func:`thermocline.fleet`, ``volume=``). Four names need no unit:
    ``time`` in nanoseconds, ``op`` (words, or 0 read, 1 write, 2 trim, 3 flush), ``offset`` and ``length`` in bytes.
    Without times all requests arrive at once, without operations all are writes, which a warning says where other
    columns are there. What a run makes of other columns is a warning too.

    A reader of libCacheSim (``libcachesim.TraceReader``) is read as its block traces are: an object is a sector of 512 bytes,
    a clock a second. Its requests must have operations, which those of most cache traces do not.

    Raises :class:`~thermocline.UsageError` where arrays do not fit together, and :class:`~thermocline.InputError`
    where a value is none that a trace has; a run raises it where the columns do not describe a trace.
    """
    if isinstance(source, Trace):
        return source
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(cast("str | os.PathLike[str]", source))
    name = name or None
    if source is not None and hasattr(source, "__arrow_c_stream__"):
        table: Any = source
        return Trace(_native.Memory.of_arrow(table.__arrow_c_stream__()), name)
    if all(hasattr(source, method) for method in ("read_one_req", "reset", "__iter__")):
        return Trace(_requests_of(source), name)
    if isinstance(source, Mapping):
        columns = cast("Mapping[str, ArrayLike | None]", source)
    elif source is not None:
        if hasattr(source, "collect"):
            raise _native.UsageError(f"a {type(source).__name__} has no rows yet; give what its collect() returns")
        raise _native.UsageError(
            f"{type(source).__name__} is no trace; give a path, a mapping of columns ({{'offset': ..., 'length': ...}}), or a table"
        )
    else:
        columns = {"time": time, "op": op, "offset": offset, "length": length, "volume": volume}
    return Trace(_table({key: values for key, values in columns.items() if values is not None}), name)


def _local(trace: TraceLike, options: Options) -> tuple[str, dict[str, _native.Memory]]:
    """Its name for the native module, and it itself where it is in memory. What is at an address is fetched."""
    from ._places import Places

    places = Places([trace], options)
    [name] = places.local()
    return name, places.memories


def info(trace: TraceLike, *, storage_options: Options = None, **settings: Setting) -> dict[str, Any]:
    """What is in a trace, by the keys of ``thermocline trace info --json``: requests, bytes, footprint,
    updates, sizes. Settings are those that read or change a trace: ``volume=``, ``ops=``, ``limit=``."""
    name, memories = _local(trace, storage_options)
    return json.loads(_native.trace_info(name, words(settings), memories, None))


def read(trace: TraceLike, *, storage_options: Options = None, **settings: Setting) -> Rows:
    """The requests of a trace as Arrow, in batches: ``time`` (nanoseconds), ``op`` (``read``, ``write``, ``trim``,
    ``flush``), ``offset`` and ``length`` (bytes), ``volume``, ``hint``.

    They are the requests that a run simulates, with the settings of :func:`info`. A table of them is a trace itself::

        frame = tc.trace.read("a.csv.gz", volume="sda").to_polars()
        tc.run(frame.filter(pl.col("op") == "write"), "dac")
    """
    from ._stream import Rows

    name, memories = _local(trace, storage_options)
    return Rows(_native.requests(name, words(settings), memories))


def convert(
    trace: TraceLike, file: str | os.PathLike[str], *, storage_options: Options = None, **settings: Setting
) -> int:
    """Writes the requests of a trace to a Parquet file, batch by batch, and returns how many they are. Names of its
    columns have units (``time_ns``), so that it is read without ``columns=``. Settings are those of :func:`info`."""
    names = {"time": "time_ns", "offset": "offset_bytes", "length": "length_bytes"}
    return read(trace, storage_options=storage_options, **settings).to_parquet(file, names)


def generate(workload: str, **settings: Setting) -> dict[str, NDArray[Any]]:
    """A generated trace as four arrays, for :func:`open`: ``generate("hot-cold:90/10", span="64MiB", seed=2)``.

    Settings are those of ``thermocline trace generate``: ``span``, ``bytes``, ``request``, ``page_size``,
    ``interarrival``, ``reads``, ``seed``.
    """
    return _native.generate(workload, words(settings))
