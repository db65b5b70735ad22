"""What comes of runs, comparisons, sweeps and fleets. Keys and units: docs/results.md."""

from __future__ import annotations

import hashlib
import html
import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Comparison", "Fleet", "History", "Result", "Sweep"]


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(cast("Mapping[str, Any]", inner), f"{before}{key}.")
        elif not isinstance(inner, list):
            yield before + key, inner


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    pa: Any = importlib.import_module("pyarrow")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _html(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    def shown(value: Any) -> str:
        if value is None:
            return ""
        return f"{value:,.4g}" if isinstance(value, float) else html.escape(f"{value:,}" if isinstance(value, int) else str(value))

    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{shown(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _arrays(values: Mapping[str, Sequence[Any]]) -> dict[str, NDArray[Any]]:
    import numpy as np

    return {name: np.asarray(column) for name, column in values.items()}


@dataclass(frozen=True)
class History:
    """How a run went: counts since the statistics began, at even distances in pages written (at most 129)."""

    host_writes: NDArray[np.int64]
    """Pages the host wrote, shape (samples,)."""
    copies: NDArray[np.int64]
    """Pages that cleaning moved, shape (samples,)."""
    victims: NDArray[np.int64]
    """Blocks cleaned, shape (samples,)."""
    victims_valid: NDArray[np.int64]
    """Valid pages in them, shape (samples,)."""
    victim_utilization: NDArray[np.int64]
    """Victims by their share of valid pages, in steps of 5 %, shape (21,)."""
    erases: NDArray[np.int64]
    """Erase counts, each hundredth of the sorted blocks, shape (101,)."""

    @property
    def write_amplification(self) -> NDArray[np.float64]:
        """Flash writes over host writes between a sample and the one before, shape (samples - 1,)."""
        import numpy as np

        host = np.diff(self.host_writes)
        return 1.0 + np.diff(self.copies) / np.maximum(host, 1)


@dataclass(frozen=True)
class Result:
    """One policy on one input. ``result["flash.erases"]`` is any key of ``thermocline run --json``."""

    data: dict[str, Any] = field(repr=False)
    notes: tuple[str, ...] = ()
    history: History | None = field(default=None, repr=False)

    @property
    def policy(self) -> str:
        """The policy's name."""
        return self.data["config"]["policy"]

    @property
    def write_amplification(self) -> float | None:
        """Flash writes over host writes; none if the host wrote nothing."""
        return self.data["write_amplification"]

    @property
    def digest(self) -> str:
        """SHA-256 of all figures but the times of this machine; the same wherever it is run."""
        stable = {key: value for key, value in self.data.items() if key != "perf"}
        return hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()

    def __getitem__(self, key: str) -> Any:
        value: Any = self.data
        for part in key.split("."):
            value = value[part]
        return value

    def flat(self) -> dict[str, Any]:
        """Every single figure by its key."""
        return dict(_flat(self.data))

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` of one row with a column for each figure."""
        return _table([self.flat()])

    def __repr__(self) -> str:
        return f"Result(policy={self.policy!r}, write_amplification={self.write_amplification})"

    def _repr_html_(self) -> str:
        return _html(["figure", "value"], list(self.flat().items()))

    def plot(self, ax: Any = None) -> Any:
        """Write amplification over host writes, on axes of matplotlib. Needs ``run(history=True)``."""
        if self.history is None:
            raise ValueError("there is no history to draw; run with history=True")
        axes: Any = _axes(ax)
        axes.plot(self.history.host_writes[1:], self.history.write_amplification, label=self.policy)
        axes.set(xlabel="pages written by the host", ylabel="write amplification")
        axes.legend()
        return axes


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # pyright: ignore

    return plt.subplots(layout="constrained")[1]  # pyright: ignore


@dataclass(frozen=True)
class _Rows:
    def rows(self) -> list[dict[str, Any]]:
        """A row for each simulation."""
        raise NotImplementedError

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``: a row for each simulation, a column for each setting and figure."""
        return _table(self.rows())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


@dataclass(frozen=True)
class Comparison(_Rows):
    """Several policies on the same inputs, as ``thermocline compare --json`` prints them."""

    results: tuple[Result, ...]
    answer: dict[str, Any]
    """The policy to choose, and why."""
    failures: tuple[dict[str, str], ...] = ()
    """Policies that could not run: ``trace``, ``policy``, ``error``."""
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> str | None:
        """The policy to choose."""
        return self.answer.get("best")

    def rows(self) -> list[dict[str, Any]]:
        return [result.flat() for result in self.results]

    def _repr_html_(self) -> str:
        names = ["trace.path", "config.policy", "write_amplification", "flash.erases"]
        return _html(names, [[row.get(name) for name in names] for row in self.rows()])

    def plot(self, ax: Any = None) -> Any:
        """A bar of write amplification for each policy."""
        axes: Any = _axes(ax)
        ran = [r for r in self.results if r.write_amplification is not None]
        ran.sort(key=lambda r: r.write_amplification or 0.0)
        axes.barh([r.policy for r in ran], [r.write_amplification for r in ran])
        axes.invert_yaxis()
        axes.set(xlabel="write amplification")
        return axes


@dataclass(frozen=True)
class Sweep(_Rows):
    """A grid of settings and what came of it."""

    cells: tuple[dict[str, Any], ...]
    """``name``, ``settings``, ``digest``, and ``result`` or ``error``, in the order of the grid."""
    computed: int = 0
    """Cells that this call computed; the others were in the store."""

    def rows(self) -> list[dict[str, Any]]:
        return [
            {**cell["settings"], "error": cell.get("error"), **dict(_flat(cell.get("result") or {}))}
            for cell in self.cells
        ]

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Which cells have no result, and why."""
        return [(cell["name"], cell["error"]) for cell in self.cells if cell.get("error")]

    def _repr_html_(self) -> str:
        settings = list(dict.fromkeys(name for cell in self.cells for name in cell["settings"]))
        names = [*settings, "write_amplification", "error"]
        return _html(names, [[row.get(name) for name in names] for row in self.rows()])

    def plot(self, x: str, y: str = "write_amplification", hue: str | None = None, ax: Any = None) -> Any:
        """Lines of figure ``y`` over setting or figure ``x``, one for each ``hue``."""
        axes: Any = _axes(ax)
        lines: dict[Any, list[tuple[Any, Any]]] = {}
        for row in self.rows():
            if row.get(y) is not None:
                lines.setdefault(row.get(hue) if hue else None, []).append((row.get(x), row[y]))
        for name, points in lines.items():
            axes.plot(*zip(*points), marker="o", label=name)
        axes.set(xlabel=x, ylabel=y)
        if hue:
            axes.legend(title=hue)
        return axes


@dataclass(frozen=True)
class Fleet(_Rows):
    """Every policy on every volume."""

    data: tuple[dict[str, Any], ...] = field(repr=False)
    summaries: tuple[dict[str, Any], ...]
    """Of each policy: ``median``, ``p90``, ``worst``, ``best_share``, ... over the volumes."""
    failed: int = 0

    def rows(self) -> list[dict[str, Any]]:
        return [
            {**row["settings"], "error": row.get("error"), **dict(_flat(row.get("result") or {}))}
            for row in self.data
        ]

    def _repr_html_(self) -> str:
        names = ["policy", "volumes", "write_amplification", "median", "p90", "worst", "best_share"]
        return _html(names, [[one.get(name) for name in names] for one in self.summaries])


def history_of(told: Mapping[str, Sequence[Any]] | None) -> History | None:
    """From JSON."""
    return None if told is None else History(**_arrays(told))
