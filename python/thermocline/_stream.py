"""Rows that are made while they are read, as Arrow."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _native
from ._progress import ThermoclineWarning

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Rows"]


def module(name: str, extra: str) -> Any:
    """An optional package."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise _native.UsageError(f"this needs {name}; pip install {extra}") from None


class Rows:
    """Rows of Arrow in batches of about 65,536, a few of which are in memory at a time.

    Each reading begins anew: ``for batch in rows``, a method below, or anything that takes Arrow streams
    (``__arrow_c_stream__``), such as DuckDB.
    """

    def __init__(self, stream: _native.Stream) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream.__arrow_c_stream__(requested_schema)

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._stream.columns())

    def _said(self) -> None:
        """Raises what ended the stream, and passes on what was said meanwhile."""
        for note in self._stream.notes():
            warnings.warn(note, ThermoclineWarning, stacklevel=3)
        self._stream.check()

    def reader(self) -> Any:
        """A ``pyarrow.RecordBatchReader``."""
        return module("pyarrow", "'thermocline[arrow]'").RecordBatchReader.from_stream(self)

    def __iter__(self) -> Iterator[Any]:
        """Batches, each a ``pyarrow.RecordBatch``."""
        try:
            yield from self.reader()
        finally:
            self._said()

    def to_arrow(self) -> Any:
        """All rows as a ``pyarrow.Table``."""
        try:
            return self.reader().read_all()
        finally:
            self._said()

    def to_polars(self) -> pl.DataFrame:
        """All rows as a ``polars.DataFrame``."""
        return module("polars", "polars").from_arrow(self.to_arrow())

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a ``pandas.DataFrame``; whole numbers that may be missing are ``UInt64`` or ``UInt32``."""
        pa, pandas = module("pyarrow", "'thermocline[arrow]'"), module("pandas", "pandas")
        table = self.to_arrow()
        optional = {pa.uint64(): pandas.UInt64Dtype(), pa.uint32(): pandas.UInt32Dtype()}
        frame = table.to_pandas()
        for field in table.schema:
            if field.nullable and field.type in optional:
                # By way of fractions large numbers would lose digits.
                frame[field.name] = table[field.name].to_pandas(types_mapper=optional.get)
        return frame

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """All rows as an array a column. Words are objects; a number that is missing is 0."""
        import numpy as np

        columns: dict[str, NDArray[Any]] = {}
        pc = module("pyarrow.compute", "'thermocline[arrow]'")
        table = self.to_arrow()
        for field in table.schema:
            column = table[field.name]
            if str(field.type).startswith("dictionary"):
                columns[field.name] = np.array(column.to_pylist(), dtype=object)
            else:
                columns[field.name] = pc.fill_null(column, 0).to_numpy()
        return columns

    def to_parquet(self, file: str | os.PathLike[str], names: Mapping[str, str] | None = None) -> int:
        """Writes a Parquet file, a batch a row group, and returns the number of rows. ``names`` renames columns. A file
        that is not complete is deleted."""
        parquet, pa = module("pyarrow.parquet", "'thermocline[arrow]'"), module("pyarrow", "'thermocline[arrow]'")
        named = [(names or {}).get(name, name) for name in self.columns]
        written = 0
        reader = self.reader()
        fields = [field.with_name(name) for field, name in zip(reader.schema, named, strict=True)]
        try:
            with parquet.ParquetWriter(file, pa.schema(fields), compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(batch.rename_columns(named))
                    written += batch.num_rows
        except BaseException:
            os.unlink(file)
            self._said()
            raise
        self._said()
        return written
