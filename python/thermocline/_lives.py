"""Lives of page writes, and how well they can be foretold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _native
from . import trace as _trace
from ._places import Options
from ._stream import Rows
from ._words import Setting, Words, words
from .learned import Learned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEATURES: tuple[str, ...] = tuple(_native.features())
"""What is known of a page when it is written, in this order. Intervals are in page writes of its volume."""

USUAL = ("interval_1", "interval_2", "run", "writes", "interval_before")
"""The features of :func:`predictability` where none are named."""


class _Opened:
    """A trace that is read again and again."""

    def __init__(self, trace: _trace.TraceLike, options: Options, settings: dict[str, Setting]) -> None:
        self.path, self.memories = _trace._local(trace, options)
        self.words: Words = words(settings)
        self._at: dict[float, int] = {}

    def part(self, part: str, write: int) -> Rows:
        return Rows(_native.lives(self.path, self.words, self.memories, part, write))

    def split_at(self, share: float) -> int:
        """The number of the page write at this share of all."""
        if not 0 < share < 1:
            raise _native.UsageError(f"split={share}; choose a share between 0 and 1")
        if share not in self._at:
            self._at[share] = _native.split_at(self.path, self.words, self.memories, share)
        return self._at[share]


class Lives(Rows):
    """The lives of a trace's page writes; see :func:`lives`."""

    features = FEATURES
    """Names of the columns that were known when the page was written."""

    def __init__(self, opened: _Opened) -> None:
        super().__init__(_native.lives(opened.path, opened.words, opened.memories, "all", 0))
        self._opened = opened

    def split(self, share: float = 0.6) -> tuple[Rows, Rows]:
        """What could be learnt at this share of the page writes, and what could be foretold from then on.

        The first rows are lives that had ended by then; the second are page writes from then on. Those that were alive
        at that moment are in neither: how long they live was not known.
        """
        write = self._opened.split_at(share)
        return self._opened.part("ended", write), self._opened.part("begun", write)


def lives(trace: _trace.TraceLike, *, storage_options: Options = None, **settings: Setting) -> Lives:
    """Each page write of a trace, with the end of its life and what was known when it was written.

    Settings are those of a run that read or change a trace (``volume=``, ``ops=``, ``columns=``), and ``page_size=``
    (4 KiB). Rows are in the order of ends; page writes that are alive at the end of the trace follow. A row has

    * ``volume``, ``page`` of the volume, ``write`` (the number of the page write in the trace), ``time``;
    * ``end`` (``overwritten``, ``trimmed``, or none), ``end_write``, ``end_time``, and ``life``: page writes of the
      volume until then, with the one that ends it;
    * :attr:`Lives.features`: the last four intervals between writes of the page, ``writes`` before this one, ``run``
      (pages written in ascending order right before it), the last intervals of its neighbours in the address space, and
      the ``size`` of its request in bytes.

    Memory grows with the pages that are written (some 90 bytes each, where writes are near each other), not with the
    trace.
    """
    return Lives(_Opened(trace, storage_options, dict(settings)))


@dataclass(frozen=True)
class Foretold:
    """How well lives were foretold by some features."""

    features: tuple[str, ...]
    octaves: float
    """Mean distance from the foretold to the real life: 1 is twice or half of it."""
    within_an_octave: float
    """Share of the page writes that were foretold to an octave or better."""
    bits: float
    """Mean bits that say in which octave a life ends, to someone who knows what was foretold."""


@dataclass(frozen=True)
class Predictability:
    """How well the lives of a trace's last part can be foretold from its first; see :func:`predictability`."""

    split: float
    page_writes: int
    """Page writes that were foretold."""
    unfinished: float
    """Share of them that were alive at the end of the trace."""
    steps: tuple[Foretold, ...]
    """By the first feature, by the first two, and so on; the first step knows none."""
    _table: _native.Foreteller = field(repr=False)

    @property
    def without(self) -> Foretold:
        """Without any feature."""
        return self.steps[0]

    @property
    def best(self) -> Foretold:
        """The step with the least distance."""
        return min(self.steps, key=lambda step: step.octaves)

    def foretell(self, features: NDArray[np.uint32]) -> NDArray[np.float32]:
        """The binary logarithms of lives, of rows of all :data:`FEATURES` in their order, 0 for none."""
        return self._table.foretell(features)

    def placement(self, streams: int = 8, *, shortest: int = 1024, name: str = "foretold") -> Learned:
        """A placement that separates pages by their foretold lives: the first stream has those below ``shortest`` page
        writes, and each further stream twice as long ones. A survivor is placed by what is foretold of it, but at least
        by its age."""
        return Learned(_Octaves(self._table, streams, shortest), streams=streams, survivors=True, name=name)

    def _repr_html_(self) -> str:
        from .results import _html

        rows = [[step.features[-1] if step.features else "(none)", step.octaves, step.within_an_octave, step.bits] for step in self.steps]
        return _html(["with", "octaves", "within an octave", "bits"], rows)


class _Octaves:
    """Streams by foretold lives."""

    def __init__(self, table: _native.Foreteller, streams: int, shortest: int) -> None:
        self._table, self._streams, self._shortest = table, streams, shortest

    def __call__(self, features: NDArray[np.uint32], ages: NDArray[np.uint64]) -> NDArray[Any]:
        import numpy as np

        octaves = np.maximum(self._table.foretell(features), np.log2(ages + 1.0))
        return np.clip(octaves - np.log2(self._shortest) + 1, 0, self._streams - 1).astype(np.uint8)


def predictability(
    trace: _trace.TraceLike,
    features: Sequence[str] | None = None,
    *,
    split: float = 0.6,
    storage_options: Options = None,
    **settings: Setting,
) -> Predictability:
    """How well lives can be foretold, by features of :attr:`Lives.features`, the most telling first.

    A table counts, for each octave of each feature, how long page writes lived, from what was known at ``split`` of
    the page writes: lives that had ended, and those that were alive, at twice their age. What it foretells is the median.
    It is scored by all page writes from then on; one that is alive at the end of the trace is wrong only if it was foretold
    to be shorter. A better learner may foretell more of the same features, so this is no bound. Settings are those of
    :func:`lives`.
    """
    opened = _Opened(trace, storage_options, dict(settings))
    named = list(USUAL if features is None else features)
    table = _native.Foreteller.learnt(opened.path, opened.words, opened.memories, named, opened.split_at(split))
    steps: list[Foretold] = []
    scores = table.scores()
    count = max(scores[0][0], 1)
    for known, (_, _, octaves, within, bits) in enumerate(scores):
        steps.append(Foretold(tuple(named[:known]), octaves / count, within / count, bits / count))
    return Predictability(split, scores[0][0], scores[0][1] / count, tuple(steps), table)
