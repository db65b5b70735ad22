"""Drawings by matplotlib in the reports' style, and files of them for papers."""

from __future__ import annotations

import importlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from . import _native

_COLUMN = (3.5, 2.6)
"""Inches: the width of a column of two."""
_MESH = "#E1E1E1"
_NAMES = {
    "write_amplification": "write amplification",
    "memory.total_bytes": "RAM (bytes)",
    "response_us.write.p99": "99th percentile of writes (µs)",
}


def label(key: str) -> str:
    """What stands on the axis of a figure or a setting."""
    return _NAMES.get(key) or key.removeprefix("asked.").replace("_", " ").replace("-", " ")


@contextmanager
def drawing(ax: Any, file: str | os.PathLike[str] | None) -> Generator[Any]:
    """Axes to draw on: the caller's, or those of a new figure of a column's width, which is written to ``file``.

    Letters of a PDF are letters (TrueType), as publishers ask; nothing in it depends on the day.
    """
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
        cycler: Any = importlib.import_module("cycler").cycler
    except ImportError:
        raise _native.UsageError("drawing needs matplotlib; pip install 'thermocline[plot]'") from None
    style = {
        "axes.prop_cycle": cycler(color=_native.colours()),
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.dpi": 144,
        "figure.figsize": _COLUMN,
        "font.family": "sans-serif",
        "font.size": 8,
        "grid.color": _MESH,
        "legend.frameon": False,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.5,
        "pdf.fonttype": 42,
        "ps.fonttype": 42,
        "svg.hashsalt": "thermocline",
    }
    with plt.rc_context(style):
        axes = ax if ax is not None else plt.subplots(layout="constrained")[1]
        yield axes
        if file is not None:
            kind = os.fspath(file).rpartition(".")[2].lower()
            dateless = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
            axes.figure.savefig(file, metadata=dateless)
