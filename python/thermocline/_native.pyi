"""The native module; use the package `thermocline` instead."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

from numpy.typing import NDArray
import numpy as np

__version__: str

class ThermoclineError(Exception): ...
class UsageError(ThermoclineError): ...
class InputError(ThermoclineError): ...
class FailedError(ThermoclineError): ...
class BrokenError(ThermoclineError): ...
class PolicyError(ThermoclineError): ...

class Blocks:
    """All blocks of a bank, as they were when the method was called; arrays of shape (len(blocks),)."""

    @property
    def valid(self) -> NDArray[np.uint32]:
        """Pages whose data are current."""
    @property
    def erases(self) -> NDArray[np.uint32]:
        """Times erased."""
    @property
    def stamps(self) -> NDArray[np.uint64]:
        """When ages begin, in nanoseconds."""
    @property
    def streams(self) -> NDArray[np.uint8]:
        """The stream each was opened for."""
    @property
    def candidates(self) -> NDArray[np.bool_]:
        """Whether each may be chosen: full, and a page of it garbage."""
    @property
    def pages(self) -> int:
        """Data pages in a block."""
    def __len__(self) -> int: ...

class Cleaning:
    """The block that is being cleaned."""

    bank: int
    block: int
    stream: int
    """It was opened for."""
    valid: int
    """Its valid pages."""
    pages: int
    """Data pages in a block."""
    mapped: int
    """Logical pages that hold data."""
    capacity: int
    """Logical pages that the device could hold."""
    now: int

class Maker:
    @staticmethod
    def of_object(
        name: str,
        make: Callable[..., tuple[object, set[str]]],
        streams: int | None = None,
        batch: int = 1,
        stale: bool = False,
    ) -> Maker: ...
    @staticmethod
    def of_table(kind: str, address: int, name: str | None, kept: object) -> Maker: ...
    @staticmethod
    def of_functions(
        kind: str,
        name: str,
        functions: Mapping[str, int],
        numbers: tuple[int, int, int],
        state: Callable[..., tuple[int, object]] | None,
        kept: object,
    ) -> Maker: ...
    @staticmethod
    def of_model(name: str, predict: Callable[..., object], streams: int, batch: int, survivors: bool) -> Maker: ...
    @property
    def name(self) -> str: ...

class Own:
    def __init__(
        self, name: str, shown: str, policy: str | None, victim: str | Maker | None, placement: str | Maker | None
    ) -> None: ...

class Memory:
    @staticmethod
    def of_arrays(
        time: NDArray[Any] | None,
        op: NDArray[np.uint8] | None,
        offset: NDArray[Any],
        length: NDArray[Any],
    ) -> Memory: ...
    @staticmethod
    def of_columns(columns: Sequence[tuple[str, str, Any]]) -> Memory: ...
    @staticmethod
    def of_arrow(capsule: object) -> Memory: ...
    @staticmethod
    def of_ipc(bytes: bytes) -> Memory: ...
    def arrays(self) -> tuple[NDArray[Any] | None, NDArray[np.uint8] | None, NDArray[Any], NDArray[Any]] | None: ...
    def parcel(self) -> bytes: ...
    def __len__(self) -> int: ...

_Traces = Mapping[str, Memory]
_Listener = Callable[..., object] | None
_Pairs = Sequence[tuple[str, str | None]]

def run(words: _Pairs, traces: _Traces, listener: _Listener, history: bool) -> str: ...
def compare(words: _Pairs, traces: _Traces, listener: _Listener) -> str: ...
def fleet(
    words: _Pairs, names: Mapping[str, str], traces: _Traces, listener: _Listener
) -> str: ...

class Table:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

class Stream:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def columns(self) -> list[str]: ...
    def notes(self) -> list[str]: ...
    def check(self) -> None: ...

class Foreteller:
    @staticmethod
    def learnt(path: str, words: _Pairs, traces: _Traces, features: Sequence[str], split: int) -> Foreteller: ...
    def scores(self) -> list[tuple[int, int, float, int, float]]: ...
    def foretell(self, rows: NDArray[np.uint32]) -> NDArray[np.float32]: ...

class Devices:
    def __init__(
        self,
        words: _Pairs,
        traces: _Traces,
        listener: _Listener,
        count: int,
        decide: str,
        sizes: tuple[int, int],
        weights: tuple[float, float, float],
    ) -> None: ...
    def width(self) -> int: ...
    def reset(self, at: int, seed: int) -> None: ...
    def step(
        self, streams: NDArray[np.int64], victims: NDArray[np.int64], go: NDArray[np.bool_], results: dict[int, str]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.uint8], NDArray[np.int64]]: ...
    def observed(self) -> tuple[NDArray[np.float32], NDArray[np.uint8], NDArray[np.int64]]: ...

class Plan:
    @staticmethod
    def again(axes: tuple[Any, int], digests: Sequence[tuple[str | None, str | None]]) -> Plan: ...
    def __len__(self) -> int: ...
    def cell(self, at: int) -> tuple[str, list[tuple[str, str | None]]]: ...
    def digest(self, at: int) -> tuple[str | None, str | None]: ...
    def result(self, at: int, folder: str | PathLike[str]) -> str | None: ...
    def table(
        self, folder: str | PathLike[str], errors: Mapping[str, str], cells: Sequence[int], digests: bool
    ) -> Table: ...

class Summing:
    def __new__(cls, parts: int) -> Summing: ...
    def add(self, part: int, told: str) -> Table: ...
    def summaries(self) -> tuple[str, int]: ...

def plan(
    axes: Sequence[tuple[str, Sequence[str]]],
    seeds: int,
    known: Sequence[tuple[str, str]],
    traces: _Traces,
    listener: _Listener,
) -> Plan: ...
def search(
    axes: Sequence[tuple[str, Sequence[str]]],
    seeds: int,
    until: str,
    tolerance: str | None,
    folder: str,
    traces: _Traces,
    listener: _Listener,
) -> str: ...
def execute(pairs: _Pairs, version: str, traces: _Traces, listener: _Listener) -> tuple[str, list[str]]: ...
def has(folder: str | PathLike[str], digest: str) -> bool: ...
def keep(folder: str | PathLike[str], digest: str, pairs: _Pairs, result: str) -> None: ...
def place(file: str, line: int, function: str) -> str: ...
def tune(
    axes: Sequence[tuple[str, Sequence[str]]],
    asked_aim: str,
    numbers: tuple[int, float, float],
    no_parameters: bool,
    threads: int,
    proposer: object | None,
    traces: _Traces,
    listener: _Listener,
) -> str: ...
def colours() -> list[str]: ...
def reproduce(
    what: Sequence[str], quick: bool, traces: Sequence[str | PathLike[str]], listener: _Listener
) -> str: ...
def trace_info(
    path: str | PathLike[str], words: _Pairs, traces: _Traces, listener: _Listener
) -> str: ...
def requests(path: str, words: _Pairs, traces: _Traces) -> Stream: ...
def lives(path: str, words: _Pairs, traces: _Traces, part: str, write: int) -> Stream: ...
def split_at(path: str, words: _Pairs, traces: _Traces, share: float) -> int: ...
def features() -> list[str]: ...
def generate(workload: str, words: _Pairs) -> dict[str, NDArray[Any]]: ...
def listed(what: str) -> str: ...
def options(
    of: str,
) -> list[tuple[str, str, str | None, str | None, bool, str]]: ...
