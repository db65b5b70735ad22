"""What runs on workers: one cell of a sweep, one part of a fleet. A worker may be another process or machine."""

from __future__ import annotations

import os
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Union

from . import _native
from ._places import Place, alone, of_here
from .policy import Parcel, hosted

Pairs = list[tuple[str, Union[str, None]]]


class Outcome(NamedTuple):
    """What came of a job."""

    told: str | None
    """What it came to, as JSON; none if it is in the store, which the worker shares with the caller."""
    error: str | None
    """Why there is nothing."""
    computed: bool
    """It was computed, and not found in the store."""
    notes: tuple[str, ...] = ()
    """What a person should know before believing it."""
    history: str | None = None
    """How it went, as JSON, if that was asked for; none if it is in the store."""


@dataclass(frozen=True)
class Cell:
    """A cell of a sweep."""

    pairs: Pairs
    digest: str
    store: str
    marker: str
    """A file in the store: who sees it shares the store with the caller."""
    policies: Parcel = ()
    """The user's own that it names, where this process does not know them."""
    history: bool = False
    """Its history is kept too."""


def _why(error: Exception) -> str:
    """What went wrong. What a policy of the user's own raised has its line."""
    if isinstance(error, (_native.ThermoclineError, OSError, ImportError)):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({_native.place(last.filename, last.lineno or 0, last.name)})"


class _Notes:
    """A listener that keeps what a person should know."""

    def __init__(self) -> None:
        self.all: list[str] = []

    def __call__(self, kind: str, text: str, *_: object) -> None:
        if kind in ("note", "warning"):
            self.all.append(text)


def _version(path: str | None) -> str:
    try:
        found = os.stat(path or "")
    except OSError:
        return ""
    return f"{found.st_mtime_ns} {found.st_size}"


def execute(cell: Cell, trace: Place = None) -> Outcome:
    """Runs a cell, unless the store has its result by now; keeps the result, if the store can be reached."""
    if not os.path.exists(cell.marker):
        return _executed(cell, trace, False)
    # Another client may be at the same cell: its result is waited for.
    with alone(cell.store, cell.digest) as lock:
        try:
            there = _native.has(cell.store, cell.digest, cell.history)
            return Outcome(None, None, False) if there else _executed(cell, trace, True)
        finally:
            # Who waits has the file open, and finds the result.
            with suppress(OSError):
                lock.unlink()


def _executed(cell: Cell, trace: Place, shares: bool) -> Outcome:
    said = _Notes()
    try:
        path, memories, version = of_here(trace)
        pairs = [(name, path if path and name == "trace" else value) for name, value in cell.pairs]
        version = version or _version(dict(pairs).get("trace"))
        with hosted(cell.policies):
            result, notes, history = _native.execute(pairs, version, cell.history, memories, said)
        if shares:
            _native.keep(cell.store, cell.digest, cell.pairs, result, history)
    except Exception as error:
        return Outcome(None, _why(error), False)
    told, history = (None, None) if shares else (result, history)
    return Outcome(told, None, True, (*said.all, *notes), history)


@dataclass(frozen=True)
class Part:
    """A part of a fleet: some traces, or some of the volumes of one."""

    number: int
    words: tuple[tuple[str, Union[str, None]], ...]
    """Settings but for traces."""
    traces: tuple[str, ...]
    store: str | None = None
    marker: str | None = None
    policies: Parcel = ()


def fleet(part: Part, *places: Place) -> Outcome:
    """Runs policies on every volume of a part."""
    words = list(part.words)
    names: dict[str, str] = {}
    memories: dict[str, _native.Memory] = {}
    said = _Notes()
    try:
        for name, place in zip(part.traces, places, strict=True):
            path, more, _ = of_here(place)
            memories.update(more)
            words.append(("trace", str(path or name)))
            if path:
                names[path] = name
        if part.store and part.marker and os.path.exists(part.marker):
            words.append(("store", str(part.store)))
        with hosted(part.policies):
            return Outcome(_native.fleet(words, names, memories, said), None, True, tuple(said.all))
    except Exception as error:
        return Outcome(None, _why(error), False)


