"""Drawings by matplotlib in the reports' style, files of them for papers, and the same as charts of Altair."""

from __future__ import annotations

import importlib
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import altair

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


def chart(mark: str, points: Sequence[tuple[Any, Any, Any]], x: str, y: str, hue: str | None = None) -> altair.Chart:
    """Points (x, y, hue) as a chart of Altair: lines through the means of those at one place, or bars along the x axis."""
    try:
        alt: Any = importlib.import_module("altair")
    except ImportError:
        raise _native.UsageError("charts need Altair; pip install 'thermocline[charts]'") from None

    kind = "quantitative" if all(isinstance(place, (int, float)) for place, _, _ in points) else "nominal"
    values = [{"x": point[0], "y": point[1], "hue": point[2]} for point in points]
    drawn = alt.Chart(alt.Data(values=values))
    drawn = drawn.mark_bar() if mark == "bar" else drawn.mark_line(point=True)
    zero = alt.Scale(zero=mark == "bar")
    axes: dict[str, Any]
    if mark == "bar":
        axes = {"x": alt.X("x", type="quantitative", title=x, scale=zero), "y": alt.Y("y", type="nominal", title=y, sort="x")}
    else:
        axes = {
            "x": alt.X("x", type=kind, title=x, **({"scale": zero} if kind == "quantitative" else {"sort": None})),
            "y": alt.Y("mean(y)", type="quantitative", title=y, scale=zero),
        }
    if hue is not None:
        axes["color"] = alt.Color("hue", type="nominal", title=hue, sort=None, scale=alt.Scale(range=_native.colours()))
    return drawn.encode(**axes)
