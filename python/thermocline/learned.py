"""Placements that were learnt: features in, streams out, many pages at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _native
from .policy import _Own

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Learned"]

_MOST_BATCH = 4096


class Learned(_Own):
    """A placement by a function of features, such as a model that was trained on :func:`thermocline.lives`::

        def predict(features, ages):                # shapes (n, 9) and (n,)
            return model.predict(features) > 4096   # a stream of each page: 0 or 1

        tc.run("a.tct", placement=tc.Learned(predict, streams=2), victim="cost-benefit")

    ``features`` are rows of :attr:`thermocline.Lives.features` (``uint32``; 0 is none). They are those that
    :func:`thermocline.lives` has of the same page writes, but for the ``size`` of the request, which a device's placement
    does not know: it is 0. ``ages`` are 0 for pages that the host writes. With ``survivors``, the function is also asked
    about the valid pages of blocks that are cleaned, with their features as of their last write and with their ages in page
    writes; without it they go to the last stream.

    A call has up to ``batch`` pages. Features depend on the host's writes alone, so that the decisions are those of
    asking page by page. The function may be of NumPy, Numba, ONNX Runtime (``session.run(None, {"x": features})[0]``) or
    any other library; a run calls it from one thread.
    """

    def __init__(
        self,
        predict: Callable[[NDArray[np.uint32], NDArray[np.uint64]], ArrayLike],
        *,
        streams: int,
        survivors: bool = False,
        batch: int = 512,
        name: str = "learned",
        version: str | None = None,
    ) -> None:
        if not 1 <= streams <= 64 or not 1 <= batch <= _MOST_BATCH:
            raise _native.UsageError(f"streams={streams}, batch={batch}; choose 1 to 64 streams, batches of 1 to {_MOST_BATCH}")
        self.predict: Any = predict
        self.streams, self.survivors, self.batch = streams, survivors, batch
        self.name, self.version = name, version

    def _maker(self) -> _native.Maker:
        return _native.Maker.of_model(self._shown(), self.predict, self.streams, self.batch, self.survivors)
