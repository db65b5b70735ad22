"""What comes of runs, comparisons, sweeps and fleets. Keys and units: docs/results.md."""

from __future__ import annotations

import difflib
import hashlib
import html
import importlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, cast

from . import _native
from ._plot import chart, drawing, label
from ._stream import module

if TYPE_CHECKING:
    import altair
    import numpy as np
    import optuna
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["Comparison", "Fleet", "History", "Result", "Searched", "Sweep", "Tuned"]

_HOST_PAGES = "pages written by the host"
_SHOWN = 50
"""Rows of a sweep that a notebook shows."""


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flat(cast("Mapping[str, Any]", inner), f"{before}{key}.")
        elif not isinstance(inner, list):
            yield before + key, inner


def _pyarrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise _native.UsageError("tables need pyarrow; pip install 'thermocline[arrow]'") from None


def _asked(name: str) -> str:
    return "asked." + name.removeprefix("asked.").replace("_", "-")


def _is_in(row: Mapping[str, Any], name: str) -> bool:
    return name in row or _asked(name) in row


def _of(row: Mapping[str, Any], name: str) -> Any:
    """A figure of a row, or a setting as it was asked for."""
    return row[name] if name in row else row.get(_asked(name))


def _number(value: Any) -> Any:
    """A share or a number for an axis; other texts stay."""
    if not isinstance(value, str):
        return value
    try:
        return float(value[:-1]) / 100 if value.endswith("%") else float(value)
    except ValueError:
        return value


def _table(rows: Sequence[Mapping[str, Any]]) -> Any:
    pa = _pyarrow()
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _figures(data: Mapping[str, Any]) -> dict[str, Any]:
    """What is the same wherever a simulation runs: without the times of this machine and the place of the trace."""
    stable = {key: value for key, value in data.items() if key != "perf"}
    if isinstance(trace := data.get("trace"), Mapping):
        stable["trace"] = {key: value for key, value in cast("Mapping[str, Any]", trace).items() if key != "path"}
    return stable


def _known(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuses a name that no row has."""
    if any(_is_in(row, name) for row in rows) or not rows:
        return
    names = dict.fromkeys(key.removeprefix("asked.") for row in rows for key in row)
    near = difflib.get_close_matches(name.replace("_", "-"), names, 3) or difflib.get_close_matches(name, names, 3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise _native.UsageError(f"there is no setting and no figure {name}{hint}")


def _html(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table of the columns that have something to show."""
    told = [at for at in range(len(names)) if any(row[at] is not None for row in rows) or not rows]
    names, rows = [names[at] for at in told], [[row[at] for at in told] for row in rows]

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


@dataclass(frozen=True, eq=False)
class History:
    """How a run went: counts since the statistics began, at even distances in pages written (at most 129)."""

    elapsed_ns: NDArray[np.int64]
    """Time at the end of the last request, shape (samples,)."""
    host_writes: NDArray[np.int64]
    """Pages the host wrote, shape (samples,)."""
    first_programs: NDArray[np.int64]
    """Those of them that were programmed, shape (samples,): all, unless there is a write buffer."""
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
    write_us: Mapping[float, float]
    """Response times of writes by the share of requests that they were enough for: ``write_us[0.999]``."""
    read_us: Mapping[float, float]
    """Those of reads."""

    @property
    def write_amplification(self) -> NDArray[np.float64]:
        """Flash writes over host writes between a sample and the one before, shape (samples - 1,)."""
        import numpy as np

        host = np.diff(self.host_writes)
        programs = np.diff(self.first_programs) + np.diff(self.copies)
        return np.where(host > 0, programs / np.maximum(host, 1), 1.0)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``: a row for each sample, with the counts and the write amplification since the one before,
        null in the first."""
        names = ("elapsed_ns", "host_writes", "first_programs", "copies", "victims", "victims_valid")
        samples: dict[str, Any] = {name: getattr(self, name) for name in names}
        since: list[float] = self.write_amplification.tolist()
        return _pyarrow().table({**samples, "write_amplification": [None, *since][: len(self.host_writes)]})

    def to_polars(self) -> pl.DataFrame:
        """:meth:`to_arrow` as a frame of polars."""
        return module("polars", "polars").DataFrame(self.to_arrow())

    def to_pandas(self) -> pd.DataFrame:
        """:meth:`to_arrow` as a frame of pandas."""
        return self.to_arrow().to_pandas()

    def __eq__(self, other: object) -> bool:
        import numpy as np

        names = (one.name for one in fields(self))
        return isinstance(other, History) and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Result:
    """One policy on one input. ``result["flash.blocks_erased"]`` is any key of ``thermocline run --json``."""

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
        """SHA-256 of all figures but the times of this machine and the trace's place; the same wherever it is run."""
        return hashlib.sha256(json.dumps(_figures(self.data), sort_keys=True).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        """Whether all figures are the same, but for the times of this machine and the trace's place."""
        return isinstance(other, Result) and _figures(self.data) == _figures(other.data)

    def __hash__(self) -> int:
        return hash(self.digest)

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

    def plot(self, ax: Axes | None = None, file: str | os.PathLike[str] | None = None) -> Axes:
        """Write amplification over host writes, on axes of matplotlib; to ``file`` too (``"figure.pdf"``: a column
        wide, for papers). Needs ``run(history=True)``."""
        history = self._drawn()
        with drawing(ax, file) as axes:
            axes.plot(history.host_writes[1:], history.write_amplification, label=self.policy)
            axes.set(xlabel=_HOST_PAGES, ylabel=label("write_amplification"))
            axes.legend()
        return axes

    def chart(self) -> altair.Chart:
        """What :meth:`plot` draws, as a chart of Altair."""
        history = self._drawn()
        points = [(x, y, self.policy) for x, y in zip(history.host_writes[1:].tolist(), history.write_amplification.tolist(), strict=True)]
        return chart("line", points, _HOST_PAGES, label("write_amplification"), "policy")

    def _drawn(self) -> History:
        if self.history is None:
            raise ValueError("there is no history to draw; run with history=True")
        return self.history


class _Rows:
    def rows(self) -> list[dict[str, Any]]:
        """A row for each simulation."""
        raise NotImplementedError

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``: a row for each simulation, a column for each setting and figure."""
        return _table(self.rows())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, eq=False)
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

    def __eq__(self, other: object) -> bool:
        """Whether the policies and all their figures are the same."""
        return isinstance(other, Comparison) and (self.results, self.failures) == (other.results, other.failures)

    def __hash__(self) -> int:
        return hash(self.results)

    def __repr__(self) -> str:
        return f"Comparison(best={self.best!r}, {len(self.results)} results, {len(self.failures)} failed)"

    def _repr_html_(self) -> str:
        names = ["trace.path", "config.policy", "write_amplification", "flash.blocks_erased"]
        return _html(names, [[row.get(name) for name in names] for row in self.rows()])

    def plot(self, ax: Axes | None = None, file: str | os.PathLike[str] | None = None) -> Axes:
        """A bar of write amplification for each policy; to ``file`` too."""
        ran = self._ran()
        with drawing(ax, file) as axes:
            axes.barh([policy for _, policy in ran], [value for value, _ in ran])
            axes.invert_yaxis()
            axes.grid(visible=False, axis="y")
            axes.set(xlabel="write amplification")
        return axes

    def _ran(self) -> list[tuple[float, str]]:
        return sorted((r.write_amplification, r.policy) for r in self.results if r.write_amplification is not None)

    def chart(self) -> altair.Chart:
        """What :meth:`plot` draws, as a chart of Altair."""
        return chart("bar", [(value, policy, None) for value, policy in self._ran()], label("write_amplification"), "policy")


@dataclass(frozen=True, eq=False)
class Searched(_Rows):
    """From which value on a condition holds, for each combination of the other settings."""

    until: str
    """The condition."""
    found: dict[str, str | None]
    """The value, by the name of a combination; none where no value of the range is the border."""
    sentences: tuple[str, ...]
    """What ``thermocline sweep --until`` prints."""
    complete: bool
    """Whether every search has an answer."""
    computed: int
    """Simulations that this call computed; the others were in the store."""
    tried: tuple[dict[str, Any], ...] = field(repr=False)
    """``name``, ``settings``, and ``result`` or ``error`` of the cells that were tried."""

    def rows(self) -> list[dict[str, Any]]:
        return [
            {**{f"asked.{name}": value for name, value in cell["settings"].items()}, "error": cell.get("error"), **dict(_flat(cell.get("result") or {}))}
            for cell in self.tried
        ]


class Sweep(_Rows):
    """A grid of settings and what came of it. Results stay in the store and are read when they are asked for."""

    def __init__(
        self,
        plan: _native.Plan,
        store: str,
        errors: Mapping[str, str],
        computed: int,
        numbers: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._plan = plan
        self._numbers = dict(numbers or {})
        self._errors = dict(errors)
        self.store = store
        """The folder of the results."""
        self.computed = computed
        """Simulations that this call computed; the others were in the store."""

    def __len__(self) -> int:
        """How many cells there are."""
        return len(self._plan)

    def _contents(self) -> list[tuple[str | None, str | None]]:
        digests = (self._plan.digest(at) for at in range(len(self)))
        return [(digest, why or self._errors.get(digest or "")) for digest, why in digests]

    def __eq__(self, other: object) -> bool:
        """Whether the cells have the same digests, hence the same results, and the same errors."""
        return isinstance(other, Sweep) and self._contents() == other._contents()

    __hash__ = None  # type: ignore[assignment]

    @property
    def cells(self) -> Iterator[dict[str, Any]]:
        """``name``, ``settings``, ``digest``, and ``result`` or ``error``, in the order of the grid."""
        for at in range(len(self)):
            name, pairs = self._plan.cell(at)
            digest, why = self._plan.digest(at)
            settings = {option: "true" if value is None else value for option, value in pairs}
            cell: dict[str, Any] = {"name": name, "settings": settings, "digest": digest}
            why = why or self._errors.get(digest or "")
            kept = None if why else self._plan.result(at, self.store)
            if kept is None:
                yield cell | {"error": why or "its result is not in the store"}
            else:
                yield cell | {"result": json.loads(kept)}

    def history(self, at: int) -> History:
        """How the run of a cell went, by its place in :attr:`cells`.

        Raises ``IndexError`` if there is no such cell, ``ValueError`` if the store has no history of it.
        """
        kept = self._plan.history(at, self.store)
        if kept is None:
            raise ValueError(f"the store has no history of cell {at}; sweep with history=True")
        return history_of(json.loads(kept))

    def rows(self) -> list[dict[str, Any]]:
        return list(self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        for cell in self.cells:
            settings = {f"asked.{name}": self._typed(name, value) for name, value in cell["settings"].items()}
            yield {**settings, "error": cell.get("error"), **dict(_flat(cell.get("result") or {}))}

    def _typed(self, name: str, value: Any) -> Any:
        """A number of the grid as it was given."""
        return self._numbers.get(name, {}).get(value, value)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``: a row for each cell, a column for each setting and figure. Settings that were given as
        numbers are numbers."""
        pa = _pyarrow()
        table = pa.table(self)
        for name in self._numbers:
            column = f"asked.{name}"
            if column in table.column_names:
                values = [self._typed(name, value) for value in table[column].to_pylist()]
                table = table.set_column(table.column_names.index(column), column, pa.array(values))
        return table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        every = list(range(len(self)))
        return self._plan.table(self.store, self._errors, every, False).__arrow_c_stream__(requested_schema)

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Which cells have no result, and why."""
        failed: list[tuple[str, str]] = []
        for at in range(len(self)):
            digest, why = self._plan.digest(at)
            why = why or self._errors.get(digest or "")
            if why:
                failed.append((self._plan.cell(at)[0], why))
        return failed

    def __repr__(self) -> str:
        return f"Sweep({len(self):,} cells, {self.computed:,} computed, {len(self.failures):,} failed)"

    def _repr_html_(self) -> str:
        rows = list(itertools.islice(self._rows(), _SHOWN))
        settings = dict.fromkeys(name for row in rows for name in row if name.startswith("asked."))
        shown = {name.removeprefix("asked."): [row.get(name) for row in rows] for name in settings}
        # What is the same in all cells is said once.
        same = {name: values[0] for name, values in shown.items() if len(set(values)) == 1 and len(rows) > 1}
        varied = [name for name in shown if name not in same]
        names = [*varied, "write_amplification", "flash.blocks_erased", "memory.total_bytes", "error"]
        body = [[*(row.get(f"asked.{name}") for name in varied), *(row.get(name) for name in names[len(varied) :])] for row in rows]
        fixed = ", ".join(f"{name} {value}" for name, value in same.items())
        more = f", the first {_SHOWN} of {len(self):,}" if len(self) > _SHOWN else ""
        return f"<p>{html.escape(fixed)}{more}</p>" + _html(names, body)

    def plot(
        self,
        x: str,
        y: str = "write_amplification",
        hue: str | None = None,
        ax: Axes | None = None,
        file: str | os.PathLike[str] | None = None,
    ) -> Axes:
        """Lines of figure ``y`` over ``x``, one for each ``hue``, on axes of matplotlib; to ``file`` too
        (``"figure.pdf"``: a column wide, for papers).

        ``x`` and ``hue`` are settings (``"over_provisioning"``) or figures; several values at one place, as of
        several seeds or traces, are drawn as their mean and range.
        """
        lines: dict[Any, dict[Any, list[float]]] = {}
        for place, value, name in self._points(x, y, hue):
            lines.setdefault(name, {}).setdefault(place, []).append(value)
        with drawing(ax, file) as axes:
            for name, line in lines.items():
                numbers = all(isinstance(place, (int, float)) for place in line)
                points = sorted(line.items()) if numbers else list(line.items())
                places = [place for place, _ in points]
                means = [sum(values) / len(values) for _, values in points]
                (drawn,) = axes.plot(places, means, marker="o", label=name)
                if any(len(values) > 1 for _, values in points):
                    least, most = [min(values) for _, values in points], [max(values) for _, values in points]
                    axes.fill_between(places, least, most, color=drawn.get_color(), alpha=0.15, linewidth=0)
            axes.set(xlabel=label(x), ylabel=label(y))
            if hue:
                axes.legend(title=label(hue))
        return axes

    def _points(self, x: str, y: str, hue: str | None) -> Iterator[tuple[Any, Any, Any]]:
        rows = self.rows()
        for name in filter(None, (x, y, hue)):
            _known(name, rows)
        for row in rows:
            value, place = _of(row, y), _number(_of(row, x))
            if value is not None and place is not None:
                yield place, _number(value), _of(row, hue) if hue else None

    def chart(self, x: str, y: str = "write_amplification", hue: str | None = None) -> altair.Chart:
        """What :meth:`plot` draws, without ranges, as a chart of Altair."""
        return chart("line", list(self._points(x, y, hue)), label(x), label(y), label(hue) if hue else None)


@dataclass(frozen=True, eq=False)
class Fleet(_Rows):
    """Every policy on every volume."""

    summaries: tuple[dict[str, Any], ...]
    """Of each policy: ``median``, ``p90``, ``worst``, ``best_share``, ... over the volumes."""
    failed: int = 0
    """Volumes without a result."""
    failures: tuple[tuple[str, str], ...] = ()
    """Parts without a result: their traces, and why."""
    parts: tuple[Any, ...] = field(default=(), repr=False)
    dataset: str | None = None
    """The folder of the rows, where they are in one."""
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False)
    """Those of the folder; they do not go along to other processes, because there may be keys in them."""

    def __reduce__(self) -> tuple[Any, ...]:
        """The rows go along, unless they are in a folder."""
        parts = () if self.dataset is not None else (self.to_arrow(),)
        return Fleet, (self.summaries, self.failed, self.failures, parts, self.dataset)

    def __eq__(self, other: object) -> bool:
        """Whether the summaries and what failed are the same."""
        if not isinstance(other, Fleet):
            return False
        ours, theirs = ((one.summaries, one.failed, one.failures) for one in (self, other))
        return ours == theirs

    __hash__ = None  # type: ignore[assignment]

    def rows(self) -> list[dict[str, Any]]:
        return self.to_arrow().to_pylist()

    def to_arrow(self) -> Any:
        pa = _pyarrow()
        if self.dataset is not None:
            return self._rows_there()
        return pa.concat_tables([pa.table(part) for part in self.parts]) if self.parts else pa.table({})

    def __repr__(self) -> str:
        volumes = max((one["volumes"] for one in self.summaries), default=0)
        return f"Fleet({len(self.summaries)} policies, {volumes:,} volumes, {self.failed + len(self.failures):,} failed)"

    def _rows_there(self) -> Any:
        from ._places import file_system

        dataset: Any = importlib.import_module("pyarrow.dataset").dataset
        if not self.storage_options:
            return dataset(self.dataset).to_table()
        system, folder = file_system(self.dataset or "", self.storage_options)
        return dataset(folder, filesystem=system, format="parquet").to_table()

    def _repr_html_(self) -> str:
        names = ["policy", "volumes", "write_amplification", "median", "p90", "worst", "best_share"]
        return _html(names, [[one.get(name) for name in names] for one in self.summaries])

    def plot(self, ax: Axes | None = None, file: str | os.PathLike[str] | None = None) -> Axes:
        """The share of volumes up to each write amplification, a line for each policy."""
        values: dict[str, list[float]] = {one["policy"]: [] for one in self.summaries}
        table = self.to_arrow().select(["asked.policy", "write_amplification"]).to_pydict()
        for policy, value in zip(table["asked.policy"], table["write_amplification"], strict=True):
            if value is not None:
                values[policy].append(value)
        with drawing(ax, file) as axes:
            for policy, all_ in values.items():
                all_.sort()
                axes.step(all_, [(at + 1) / len(all_) for at in range(len(all_))], where="post", label=policy)
            axes.set(xlabel="write amplification", ylabel="share of volumes", ylim=(0, 1))
            axes.legend()
        return axes


class Tuned:
    """What a search found: ``thermocline tune --json``."""

    def __init__(self, data: dict[str, Any], study: optuna.Study | None = None) -> None:
        self.data = data
        self.study = study
        """The study of Optuna, with its trials."""

    @property
    def best(self) -> dict[str, Any]:
        """What to choose: ``policy``, ``settings``, ``command``, ``searched``, ``confirmed``, ``distance``."""
        return self.data["best"]

    @property
    def policy(self) -> str:
        """The policy to choose, with its parameters."""
        return self.best["policy"]

    @property
    def settings(self) -> dict[str, str]:
        """The settings to choose, of those that had lists."""
        return {name.replace("-", "_"): value for name, value in self.best["settings"].items()}

    @property
    def distance(self) -> float | None:
        """By how much the aim of the choice is worse on the rest than on the part that was searched."""
        return self.best.get("distance")

    @property
    def front(self) -> list[dict[str, Any]]:
        """What nothing else beats in write amplification, RAM and write latency at once."""
        return self.data["front"]

    @property
    def trials(self) -> list[dict[str, Any]]:
        """Everything that was tried, in order."""
        return self.data["trials"]

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` with a row for each trial."""
        return _table([dict(_flat(trial)) for trial in self.trials])

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"Tuned(policy={self.policy!r}, settings={self.settings}, distance={self.distance})"

    def _repr_html_(self) -> str:
        names = ["policy", "settings", self.data["aim"], "on the rest", "distance", "write amplification", "RAM (bytes)", "p99 (µs)"]

        def row(one: dict[str, Any]) -> list[Any]:
            searched: dict[str, Any] = one.get("searched") or {}
            rest: dict[str, Any] = one.get("confirmed") or {}
            settings = ", ".join(f"{name} {value}" for name, value in one["settings"].items())
            figures = [searched.get(name) for name in ("write_amplification", "memory_bytes", "write_p99_us")]
            return [one["policy"], settings, searched.get("aim"), rest.get("aim"), one.get("distance"), *figures]

        choice = _html(names, [row(self.best), row(self.data["untuned"])])
        return (
            f"<p>The choice, and the best policy as it comes:</p>{choice}<p>The Pareto front of write amplification, "
            f"RAM and write latency:</p>{_html(names, [row(one) for one in self.front])}"
            f"<p><code>{html.escape(self.best['command'])}</code></p>"
        )

    def plot(self, ax: Axes | None = None, file: str | os.PathLike[str] | None = None) -> Axes:
        """Write amplification and RAM of every trial, with the Pareto front of the two and the choice."""
        def of(trial: dict[str, Any]) -> tuple[Any, Any]:
            searched: dict[str, Any] = trial["searched"] or {}
            return searched.get("memory_bytes"), searched.get("write_amplification")

        ran = [of(one) for one in self.trials if None not in of(one)]
        front: list[tuple[float, float]] = []
        for memory, amplification in sorted(ran):
            if not front or amplification < front[-1][1]:
                front.append((memory, amplification))
        with drawing(ax, file) as axes:
            axes.scatter(*zip(*ran, strict=True), s=8, color="#B4B4B4", label="tried")
            axes.plot(*zip(*front, strict=True), marker="o", label="front")
            if None not in of(self.best):
                axes.plot(*of(self.best), marker="*", markersize=9, linestyle="", label="choice")
            axes.set(xlabel="RAM (bytes)", ylabel="write amplification", xscale="log")
            axes.legend()
        return axes


def history_of(told: Mapping[str, Any]) -> History:
    """From JSON."""
    samples = _arrays({name: column for name, column in told.items() if not isinstance(column, dict)})
    return History(**samples, write_us=_curve(told["write_us"]), read_us=_curve(told["read_us"]))


def _curve(told: Mapping[str, float]) -> dict[float, float]:
    return {float(share): us for share, us in told.items()}
