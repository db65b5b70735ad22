"""A folder of Parquet files, a file a batch, into which results stream."""

from __future__ import annotations

import importlib
import os
import time
import uuid
from collections.abc import Callable
from typing import Any

from . import _native

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

    ``where`` is a folder or an address that pyarrow knows (``s3://...``).
    """

    def __init__(
        self, where: str | os.PathLike[str], table: Callable[[list[int]], _native.Table] | None = None
    ) -> None:
        pa, self._parquet = _modules()
        self._pa = pa
        fs: Any = importlib.import_module("pyarrow.fs")
        text = os.fspath(where)
        self._folder: str
        self._system, self._folder = (
            fs.FileSystem.from_uri(text) if "://" in text else (fs.LocalFileSystem(), os.path.abspath(text))
        )
        self._system.create_dir(self._folder, recursive=True)
        self._selector: Any = fs.FileSelector(self._folder)
        self._table = table
        self._pending: list[int] = []
        self._written = time.monotonic()
        self._known = self._there()

    def _files(self) -> list[str]:
        return [info.path for info in self._system.get_file_info(self._selector) if info.base_name.startswith("part-")]

    def _there(self) -> set[int]:
        known: set[int] = set()
        for path in self._files():
            with self._system.open_input_file(path) as source:
                file: Any = self._parquet.ParquetFile(source)
                names = set(file.schema_arrow.names)
                columns = [name for name in _KEYS if name in names]
                rows: list[dict[str, Any]] = file.read(columns=columns).to_pylist()
                known.update(self._key(row) for row in rows)
        return known

    @staticmethod
    def _key(row: dict[str, Any]) -> int:
        return hash(tuple(row.get(name) for name in _KEYS))

    def add(self, cell: int, digest: str, settings: dict[str, str]) -> None:
        """Takes note of a cell whose result is in the store."""
        key = self._key({"digest": digest, **{f"asked.{name}": value for name, value in settings.items()}})
        if key in self._known:
            return
        self._known.add(key)
        self._pending.append(cell)
        if len(self._pending) >= _ROWS or time.monotonic() - self._written > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes what there is."""
        if self._pending and self._table is not None:
            self.write(f"part-{uuid.uuid4().hex}.parquet", self._table(self._pending))
            self._pending = []
        self._written = time.monotonic()

    def write(self, name: str, rows: _native.Table) -> None:
        """Writes a file; who reads the folder meanwhile sees it whole or not at all."""
        part = f"{self._folder}/.{name}.part"
        self._parquet.write_table(self._pa.table(rows), part, filesystem=self._system, compression="zstd")
        self._system.move(part, f"{self._folder}/{name}")

    def clear(self) -> None:
        """Deletes its files."""
        for path in self._files():
            self._system.delete_file(path)

    def failures(self, cells: list[int]) -> None:
        """Cells without a result are in a file of their own, which is that of the last call."""
        if cells and self._table is not None:
            self.write("failed.parquet", self._table(cells))
        elif self._system.get_file_info(f"{self._folder}/failed.parquet").is_file:
            self._system.delete_file(f"{self._folder}/failed.parquet")
