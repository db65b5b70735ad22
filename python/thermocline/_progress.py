"""How far the work is, on a line of the terminal or in a notebook."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from typing import Any, Union

Progress = Union[bool, None, Callable[..., object]]


class ThermoclineWarning(UserWarning):
    """What a person should know before believing a result."""


def _caller() -> int:
    """How far up the first frame outside the package is, for `stacklevel`."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level


class Line:
    """A bar of tqdm where that is installed, a plain line where not; notes and warnings become Python's."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._said: set[str] = set()
        self._bar: Any = None
        self._plain = False

    def __call__(self, kind: str, text: str, done: int = 0, total: int | None = None, unit: str = "") -> None:
        if kind in ("note", "warning", "failure") and text not in self._said:
            self._said.add(text)
            warnings.warn(text, ThermoclineWarning, stacklevel=_caller())
        if kind != "progress" or not self._shown:
            return
        if self._bar is None and not self._plain:
            try:
                tqdm: Any = importlib.import_module("tqdm.auto").tqdm
                self._bar = tqdm(total=total, unit=f" {unit}", unit_scale=True, leave=False)
            except ImportError:
                self._plain = True
        if self._bar is None:
            share = f" {done / total:4.0%}" if total else ""
            sys.stderr.write(f"\r{text}: {done:,} {unit}{share}\x1b[K")
            return
        self._bar.set_description(text, refresh=False)
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Takes the line away."""
        if self._bar is not None:
            self._bar.close()
        elif self._plain:
            sys.stderr.write("\r\x1b[K")


class Telling:
    """Who is told, for the time of a call."""

    def __init__(self, progress: Progress) -> None:
        self._line: Line | None = None
        if callable(progress):
            self.listener: Callable[..., object] = progress
            return
        shown = sys.stderr.isatty() if progress is None else progress
        self.listener = self._line = Line(shown)

    def __enter__(self) -> Callable[..., object]:
        return self.listener

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.close()
