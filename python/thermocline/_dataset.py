"""A folder of Parquet files, a file a batch, into which results stream."""

from __future__ import annotations

import importlib
import os
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from . import _native
from ._places import Options, alone, file_system

_ROWS = 256
_SECONDS = 10.0
_KEYS = ("digest", "asked.trace", "asked.device")
"""Columns that tell a row from all others: contents have digests, and names beside them."""


def _modules() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise _native.UsageError("a data set needs pyarrow; pip install 'thermocline[arrow]'") from None


class Dataset:
    """Rows that are written when there are enough of them, or when they are old enough.

    ``where`` is a folder or an address that pyarrow knows (``s3://...``); with ``options``, one that fsspec knows.
    Sweeps with one ``store`` may write to one data set: they write in turn, and what another wrote is not written again.
    All its files have the columns of all sweeps, null where a sweep had no such setting: readers take them from the
    first file that they find.
    """

    def __init__(
        self, where: str | os.PathLike[str], options: Options = None, store: str | None = None
    ) -> None:
        self._pa, self._parquet = _modules()
        fs: Any = importlib.import_module("pyarrow.fs")
        self.where, self.options = os.fspath(where), options
        text = self.where
        self._folder: str
        self._remote: Any = None
        if "://" not in text:
            self._system, self._folder = fs.LocalFileSystem(), os.path.abspath(text)
        elif options:
            self._remote, self._folder = file_system(text, options)
            self._system = fs.PyFileSystem(fs.FSSpecHandler(self._remote))
        else:
            self._system, self._folder = fs.FileSystem.from_uri(text)
        self._system.create_dir(self._folder, recursive=True)
        self._selector: Any = fs.FileSelector(self._folder, allow_not_found=True)
        self._store = store
        self.table: Callable[[list[int]], _native.Table] | None = None
        """Makes the rows of cells."""
        self._pending: dict[int, int] = {}
        self._written = time.monotonic()
        self._known: set[int] = set()
        self._read: dict[str, int] = {}
        """Files that are known, and how many columns they have."""
        self._schema: Any = None
        """The columns of all sweeps."""
        self._learn()

    def _alone(self) -> AbstractContextManager[object]:
        return nullcontext() if self._store is None else alone(self._store, "dataset")

    def _files(self) -> list[str]:
        if self._remote is not None:
            self._remote.invalidate_cache()
        return [info.path for info in self._system.get_file_info(self._selector) if info.base_name.startswith("part-")]

    def _learn(self) -> None:
        """Learns which rows there are by now."""
        for path in self._files():
            if path in self._read:
                continue
            with self._system.open_input_file(path) as source:
                file: Any = self._parquet.ParquetFile(source)
                self._grow(file.schema_arrow)
                names = set(file.schema_arrow.names)
                self._read[path] = len(names)
                columns = [name for name in _KEYS if name in names]
                rows: list[dict[str, Any]] = file.read(columns=columns).to_pylist()
                self._known.update(self._key(row) for row in rows)

    def _grow(self, schema: Any) -> None:
        """Takes in columns that were not there."""
        if self._schema is None:
            self._schema = schema
        elif not set(schema.names) <= set(self._schema.names):
            self._schema = self._pa.unify_schemas([schema, self._schema])

    def _whole(self, rows: Any) -> Any:
        """Rows with all columns."""
        missing = (one for one in self._schema if one.name not in rows.column_names)
        for one in missing:
            rows = rows.append_column(one, self._pa.nulls(len(rows), one.type))
        return rows.select(self._schema.names)

    def _widen(self) -> None:
        """Gives files that were written before the columns that came later."""
        self._learn()
        for path, columns in self._read.items():
            if columns < len(self._schema.names):
                with self._system.open_input_file(path) as source:
                    rows = self._whole(self._parquet.ParquetFile(source).read())
                self.write(path.rpartition("/")[2], rows)
                self._read[path] = len(self._schema.names)

    @staticmethod
    def _key(row: dict[str, Any]) -> int:
        return hash(tuple(row.get(name) for name in _KEYS))

    def add(self, cell: int, digest: str, settings: dict[str, str]) -> None:
        """Takes note of a cell whose result is in the store."""
        key = self._key({"digest": digest, **{f"asked.{name}": value for name, value in settings.items()}})
        if key in self._known:
            return
        self._pending.setdefault(key, cell)
        if len(self._pending) >= _ROWS or time.monotonic() - self._written > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes what there is."""
        if self._pending and self.table is not None:
            with self._alone():
                self._learn()
                cells = [cell for key, cell in self._pending.items() if key not in self._known]
                if cells:
                    name = f"part-{uuid.uuid4().hex}.parquet"
                    rows = self._pa.table(self.table(cells))
                    self._grow(rows.schema)
                    self.write(name, self._whole(rows))
                    self._read[f"{self._folder}/{name}"] = len(self._schema.names)
            self._known.update(self._pending)
            self._pending = {}
        self._written = time.monotonic()

    def write(self, name: str, rows: Any) -> None:
        """Writes a file; who reads the folder meanwhile sees it whole or not at all."""
        part = f"{self._folder}/.{name}.part"
        self._parquet.write_table(self._pa.table(rows), part, filesystem=self._system, compression="zstd")
        self._system.move(part, f"{self._folder}/{name}")

    def clear(self) -> None:
        """Deletes its files."""
        for path in self._files():
            self._system.delete_file(path)

    def failures(self, cells: list[int]) -> None:
        """Cells without a result are in a file of their own, which is that of the last call. It is written last: by then
        all columns are known."""
        with self._alone():
            rows = self._pa.table(self.table(cells)) if cells and self.table is not None else None
            if rows is not None:
                self._grow(rows.schema)
            self._widen()
            if rows is not None:
                self.write("failed.parquet", self._whole(rows))
            elif self._system.get_file_info(f"{self._folder}/failed.parquet").is_file:
                self._system.delete_file(f"{self._folder}/failed.parquet")
