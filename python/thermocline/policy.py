"""Policies of your own: in Python, in Numba, in C.

A policy is a victim policy (which block is cleaned next), a placement (which stream a page goes to), or both::

    class Lightest(tc.Victim):
        def score(self, blocks, now):
            return blocks.valid

    tc.compare(trace, ["sep-bit", Lightest()])

Every run works on a deep copy of the object, a victim policy on one a bank; :meth:`Victim.begin` and
:meth:`Placement.begin` prepare it. Methods are called in batches with NumPy arrays, which are theirs to keep.
Methods that a class does not have are not called, and cost nothing. What a method raises stops the run and reaches
the caller as it is; what it must not return is a :class:`~thermocline.PolicyError`, ``TypeError`` or ``ValueError``.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import hashlib
import os
import re
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Union, cast

from . import _native
from ._native import Blocks, Cleaning
from ._words import texts as _texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "SIGNATURES", "Blocks", "Cleaning", "Device", "NativePlacement", "NativeVictim", "Placement", "Policy", "PolicyLike", "Victim",
]

_MOST_STREAMS = 64
_WORD = "own:"
"""What the words begin with that stand for policies of the user's own."""

SIGNATURES: Mapping[str, str] = {
    "host": "int32(voidptr, CPointer(uint32), uintp, uint64, CPointer(uint8))",
    "survivors": "int32(voidptr, voidptr, CPointer(uint32), uintp, CPointer(uint8))",
    "placement.written": "int32(voidptr, CPointer(uint32), CPointer(uint8), CPointer(uint64), uintp)",
    "filled": "int32(voidptr, CPointer(uint32), uintp, uint64)",
    "trimmed": "int32(voidptr, CPointer(uint32), uintp)",
    "spilt": "int32(voidptr, uint32, uint8, uint64)",
    "block": "int32(voidptr, int32, uint32, uint32, uint8)",
    "ratio": "int32(voidptr, uint32, uint32, CPointer(float64), CPointer(float64))",
    "age": "float64(voidptr, uint64)",
    "score": (
        "int32(voidptr, uintp, CPointer(uint32), CPointer(uint32), CPointer(uint64), CPointer(uint8), "
        "CPointer(uint8), uint64, CPointer(float64))"
    ),
    "choose": (
        "int32(voidptr, uintp, CPointer(uint32), CPointer(uint32), CPointer(uint64), CPointer(uint8), "
        "CPointer(uint8), uint64, CPointer(int64))"
    ),
    "victim.written": "int32(voidptr, CPointer(uint32), uintp)",
    "answered": "int32(voidptr, int32)",
}
"""Signatures for ``numba.cfunc``, by function; ``crates/policy/include/thermocline_policy.h`` says what each does."""


@dataclass(frozen=True)
class Device:
    """What a policy is told before a run."""

    logical_pages: int
    """Pages the device exports; pages are numbered from 0."""
    blocks: int
    """Erase blocks in all banks."""
    pages_per_block: int
    """Data pages in a block."""
    banks: int
    """Banks that clean by themselves."""
    bank: int
    """The bank of a victim policy."""
    time_scale: float
    """Time scale of age transformations in nanoseconds, where the user names none."""
    seed: int
    """Seed of the run, for those who draw random numbers."""


class _Own:
    """What every policy of the user's own has."""

    name: str | None = None
    """What results call it; by default the name of the class."""

    version: str | None = None
    """Any text that changes when the policy decides otherwise: a store of results tells policies apart by it."""

    def _shown(self) -> str:
        return self.name or type(self).__name__

    def _maker(self) -> _native.Maker:
        raise NotImplementedError


class _Python(_Own):
    _methods: ClassVar[tuple[str, ...]] = ()

    def begin(self, device: Device) -> None:
        """A run begins. The object is a copy for this run alone."""

    def _has(self) -> set[str]:
        base = next(kind for kind in type(self).__mro__ if "_methods" in vars(kind))
        return {name for name in self._methods if getattr(type(self), name) is not getattr(base, name)}

    def _begun(self, *device: Any) -> tuple[object, set[str]]:
        begun = copy.deepcopy(self)
        begun.begin(Device(*device))
        return begun, self._has()


class Victim(_Python):
    """Which block is cleaned next. Override :meth:`ratio`, :meth:`choose` or :meth:`score`.

    With :meth:`ratio` (and :meth:`age`) an index finds the block: the time of a cleaning does not grow with the
    device. With the others each cleaning looks at all blocks of the bank.
    """

    _methods = ("ratio", "age", "choose", "score", "written", "answered")

    ages: str | None = None
    """What ages count from: ``"created"``, ``"closed"``, ``"youngest"``, ``"last-invalidation"``; ``None``: nothing
    (``blocks.stamps`` are then the times of opening)."""

    def ratio(self, valid: NDArray[np.float64], pages: int) -> ArrayLike | tuple[ArrayLike, ArrayLike]:
        """Cost by valid pages, called once: ``valid`` is 0 to ``pages`` - 1, shape (pages,). Returns costs of that
        shape, or numerators and denominators; they are finite, at least 0, and do not fall. The block of least
        ``cost / age`` is cleaned, the lowest number among equals."""
        raise NotImplementedError

    def age(self, age: int) -> float:
        """The factor of an age in nanoseconds; must not fall as the age grows. By default the age itself. Called
        some tens of times a cleaning, with numbers, not arrays."""
        raise NotImplementedError

    def score(self, blocks: Blocks, now: int) -> ArrayLike:
        """A score for each block, shape (len(blocks),): the candidate of least score is cleaned, the lowest number
        among equals. Scores of blocks that are no candidates do not matter; those of others must not be NaN."""
        raise NotImplementedError

    def choose(self, blocks: Blocks, now: int) -> int | None:
        """The number of the block to clean, one of ``blocks.candidates``; ``None`` if none is worth it."""
        raise NotImplementedError

    def written(self, pages: NDArray[np.uint32]) -> None:
        """The host wrote these pages, in this order, shape (n,), at most 256; told before each choice at the latest."""

    def answered(self, cleaned: bool) -> None:
        """The block chosen last is cleaned, or refused: too little garbage, or no room for its survivors."""

    def _maker(self) -> _native.Maker:
        if not {"ratio", "choose", "score"} & self._has():
            raise _native.UsageError(f"{self._shown()} has no method ratio, choose or score; give it one of them")
        return _native.Maker.of_object(self._shown(), self._begun)


class Placement(_Python):
    """Which stream a page goes to. Each stream has an open block of its own in every bank.

    :meth:`host` is asked about the pages that the host will write next, as many as are known and alike, at most
    :attr:`batch`. If a block is cleaned or a page trimmed before all are written, it is asked about the rest again: so
    it must not change the object, which :meth:`written` does. No page is listed twice in a call. Hence a placement
    that remembers something of each page decides exactly as if asked page by page. Set ``batch = 1`` for one that
    counts across pages, or :attr:`stale` for fewer calls.
    """

    _methods = ("host", "survivors", "written", "filled", "trimmed", "spilt", "block")

    streams: int = 1
    """Streams, 1 to 64. The fill goes to stream 0."""
    batch: int = 4096
    """The most pages of one call of :meth:`host`."""
    stale: bool = False
    """Whether answers of :meth:`host` hold though blocks were cleaned since: fewer calls, decisions a batch old."""

    def host(self, pages: NDArray[np.uint32], now: int) -> ArrayLike:
        """Streams of pages that the host is about to write, in this order: whole numbers of shape (n,), or one for
        all. ``now`` is the time of the first. Without this method all go to stream 0."""
        raise NotImplementedError

    def survivors(self, pages: NDArray[np.uint32], victim: Cleaning) -> ArrayLike:
        """Streams of the valid pages of the block ``victim``, in physical order, shape (n,), or one for all. Asked
        once. Without this method all go to stream 0."""
        raise NotImplementedError

    def written(self, pages: NDArray[np.uint32], streams: NDArray[np.uint8], times: NDArray[np.uint64]) -> None:
        """The host wrote these pages to these streams at these times (nanoseconds), shape (n,) each; a page may come
        several times. Stream 255: read-only data that were kept apart."""

    def filled(self, pages: NDArray[np.uint32], now: int) -> None:
        """Pages were written before the run, to stream 0, shape (n,)."""

    def trimmed(self, pages: NDArray[np.uint32]) -> None:
        """Pages hold no data any more, shape (n,)."""

    def spilt(self, page: int, stream: int, now: int) -> None:
        """A survivor went to another stream, because there was no free block."""

    def block(self, full: bool, bank: int, block: int, stream: int) -> None:
        """A free block was opened for a stream, or has no room any more (``full``)."""

    def _maker(self) -> _native.Maker:
        streams, batch = _whole(self, "streams", _MOST_STREAMS), _whole(self, "batch", 1 << 31)
        return _native.Maker.of_object(self._shown(), self._begun, streams, batch, bool(self.stale))


def _whole(policy: _Own, name: str, most: int) -> int:
    value = getattr(policy, name)
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= value.__index__() <= most:
        raise _native.UsageError(f"{policy._shown()}.{name} is {value!r}; choose from 1 to {most}")
    return value.__index__()


Function = Any
"""A C function: of ``ctypes``, of ``numba.cfunc``, or its address."""


def _address(function: Function, name: str) -> int:
    address: Any = getattr(function, "address", function)
    if hasattr(address, "__index__"):
        return address.__index__()
    try:
        if isinstance(function, (str, bytes)):
            raise TypeError(function)
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    except (ctypes.ArgumentError, TypeError):
        raise _native.UsageError(
            f"{name} is {function!r}; give a function of ctypes or numba.cfunc, or an address"
        ) from None


class _Native(_Own):
    _kind: ClassVar[str] = ""

    def __init__(
        self,
        name: str,
        functions: Mapping[str, Function | None],
        numbers: tuple[int, int, int],
        state: Callable[[Device], NDArray[Any]] | None,
        version: str | None,
    ) -> None:
        self.name = name
        self.version = version
        given = {key: function for key, function in functions.items() if function is not None}
        addresses = {key: _address(function, key) for key, function in given.items()}
        make = None if state is None else _states(state)
        self._made = _native.Maker.of_functions(self._kind, name, addresses, numbers, make, given)
        self._from: tuple[str, str] | None = None

    @classmethod
    def load(cls, library: str | os.PathLike[str], symbol: str, name: str | None = None) -> Any:
        """The policy that a shared library exports: ``symbol`` is a table of ``thermocline_policy.h``. Native code is
        trusted: nothing protects the process from it."""
        loaded = ctypes.CDLL(os.fspath(os.path.abspath(library)))
        try:
            table = ctypes.addressof(ctypes.c_char.in_dll(loaded, symbol))
        except ValueError as error:
            raise _native.UsageError(str(error)) from None
        made = cls.__new__(cls)
        made.version = None
        try:
            made._made = _native.Maker.of_table(cls._kind, table, name, loaded)
        except ValueError as error:
            raise _native.UsageError(f"{library}: {symbol}: {error}") from None
        made.name = made._made.name
        made._from = (os.path.abspath(library), symbol)
        return made

    def _maker(self) -> _native.Maker:
        return self._made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Another process loads the library by its path; addresses of this process mean nothing there."""
        library, symbol = self._place()
        return _loaded, (type(self), library, symbol, self.name, self.version)

    def _place(self) -> tuple[str, str]:
        """The library and the symbol by which another process finds the policy."""
        if self._from is None:
            raise _native.UsageError(
                f"{self.name} is made of functions of this process, which no other can call; put them into a shared "
                f"library that workers reach, and give {type(self).__name__}.load(library, symbol)"
            )
        return self._from


def _loaded(kind: type[_Native], library: str, symbol: str, name: str, version: str | None) -> Any:
    policy = kind.load(library, symbol, name)
    policy.version = version
    return policy


def _states(state: Callable[[Device], NDArray[Any]]) -> Callable[..., tuple[int, object]]:
    def make(*device: Any) -> tuple[int, object]:
        array = state(Device(*device))
        return array.ctypes.data, array

    return make


class NativeVictim(_Native):
    """A victim policy of C functions; signatures are :data:`SIGNATURES`. ``state`` makes an array for each run, whose
    address the functions are given. Native code is trusted: nothing protects the process from it."""

    _kind = "victim"
    _AGES: ClassVar[tuple[str | None, ...]] = (None, "created", "closed", "youngest", "last-invalidation")

    def __init__(
        self,
        name: str,
        *,
        ratio: Function | None = None,
        age: Function | None = None,
        score: Function | None = None,
        choose: Function | None = None,
        written: Function | None = None,
        answered: Function | None = None,
        ages: str | None = None,
        state: Callable[[Device], NDArray[Any]] | None = None,
        version: str | None = None,
    ) -> None:
        if ages not in self._AGES:
            raise _native.UsageError(f"ages is {ages!r}; choose from {', '.join(map(str, self._AGES))}")
        functions = {
            "ratio": ratio, "age": age, "score": score, "choose": choose, "written": written, "answered": answered,
        }
        super().__init__(name, functions, (self._AGES.index(ages), 0, 0), state, version)


class NativePlacement(_Native):
    """A placement of C functions; signatures are :data:`SIGNATURES`. ``state`` makes an array for each run, whose
    address the functions are given. Native code is trusted: nothing protects the process from it."""

    _kind = "placement"

    def __init__(
        self,
        name: str,
        *,
        streams: int,
        host: Function | None = None,
        survivors: Function | None = None,
        written: Function | None = None,
        filled: Function | None = None,
        trimmed: Function | None = None,
        spilt: Function | None = None,
        block: Function | None = None,
        batch: int = 1,
        stale: bool = False,
        state: Callable[[Device], NDArray[Any]] | None = None,
        version: str | None = None,
    ) -> None:
        self.name, self.streams, self.batch = name, streams, batch
        numbers = (_whole(self, "streams", _MOST_STREAMS), _whole(self, "batch", 1 << 31), int(stale))
        functions = {
            "host": host, "survivors": survivors, "written": written, "filled": filled, "trimmed": trimmed,
            "spilt": spilt, "block": block,
        }
        super().__init__(name, functions, numbers, state, version)


@dataclass(frozen=True)
class Policy:
    """A victim policy and a placement together, each a name or an object, on the policy ``base``::

        tc.Policy("mine", victim=Lightest(), placement="sep-bit")
    """

    name: str
    victim: str | Victim | NativeVictim | None = None
    placement: str | _Own | None = None
    base: str | None = None
    """The policy whose other axes it has; by default a plain log."""


PolicyLike = Union[str, _Own, Policy]
"""A name, or a policy of your own: of :class:`Victim`, :class:`Placement`, their native twins, or ``Learned``."""


def _known_names() -> set[str]:
    import json

    global _known
    if _known is None:
        listed = json.loads(_native.listed("policies"))
        _known = {name for entry in listed for name in (entry["name"], *entry["aliases"])}
    return _known


_known: set[str] | None = None


class Given:
    """The policies of the user's own in a call, and the words that stand for them as long as it lives."""

    def __init__(self, stored: bool = False) -> None:
        """``stored``: results are kept by the policies' versions."""
        self._stored = stored
        self._named: dict[str, _Own | Policy] = {}
        self._all: list[_native.Own] = []
        self._words: dict[int, str] = {}
        self._shown: set[str] = set()
        self._kept: list[object] = []

    def word(self, policy: Any) -> Any:
        """The word for a policy of the user's own; anything else as it is."""
        if not isinstance(policy, (_Own, Policy)):
            return policy
        if id(policy) not in self._words:
            self._kept.append(policy)
            self._words[id(policy)] = self._add(policy)
        return self._words[id(policy)]

    def words(self, policies: Any) -> Any:
        """The same of one policy or of several."""
        if isinstance(policies, (list, tuple)):
            return [self.word(one) for one in cast("Iterable[Any]", policies)]
        return self.word(policies)

    def settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings with words in place of objects."""
        axes = ("policy", "policies", "victim", "placement")
        return {name: self.words(value) if name in axes else value for name, value in settings.items()}

    def _add(self, policy: _Own | Policy) -> str:
        shown = _shown(policy)
        if not shown or shown in _known_names():
            raise _native.UsageError(f"a policy of your own is called {shown!r}, as one there is; give it another name")
        if shown in self._shown:
            raise _native.UsageError(f"two policies of your own are called {shown!r}; give one another name")
        self._shown.add(shown)
        if not re.fullmatch(r"[\w.+-]+", shown):
            raise _native.UsageError(f"a policy of your own is called {shown!r}; make its name of letters, digits, . + and -")
        version = hashlib.sha256(_versions(policy).encode()).hexdigest() if self._stored else uuid.uuid4().hex
        name = f"{shown}@{version[:12]}"
        self._all.append(_registered(name, policy))
        self._named[name] = policy
        return _WORD + name

    def parcel(self, words: Iterable[str | None] | None = None) -> Parcel:
        """The policies that other processes need to run what these words say, or all policies."""
        names = set(self._named)
        if words is not None:
            names &= {word.removeprefix(_WORD) for word in words if word is not None}
        for name in names:
            _check_portable(self._named[name])
        return tuple((name, self._named[name]) for name in sorted(names))


Parcel = tuple[tuple[str, Union[_Own, "Policy"]], ...]
"""Policies of the user's own by name, on their way to another process."""


def _registered(name: str, policy: _Own | Policy) -> _native.Own:
    """Makes a name known to calls of this process as long as what is returned lives."""
    shown = _shown(policy)
    if isinstance(policy, Policy):
        return _native.Own(name, shown, policy.base, _axis(policy.victim), _axis(policy.placement))
    if isinstance(policy, (Victim, NativeVictim)):
        return _native.Own(name, shown, None, policy._maker(), None)
    return _native.Own(name, shown, None, None, policy._maker())


def _check_portable(policy: object) -> None:
    """Other processes can have it."""
    if isinstance(policy, Policy):
        _check_portable(policy.victim)
        _check_portable(policy.placement)
    elif isinstance(policy, _Native):
        policy._place()


@contextlib.contextmanager
def hosted(parcel: Parcel) -> Generator[None]:
    """Calls of this process know the policies meanwhile."""
    known = [_registered(name, policy) for name, policy in parcel]
    try:
        yield
    finally:
        known.clear()


def _shown(policy: _Own | Policy) -> str:
    return policy.name if isinstance(policy, Policy) else policy._shown()


def _versions(policy: _Own | Policy) -> str:
    """What tells the policy from what it was before it was changed."""
    if isinstance(policy, Policy):
        own = [axis for axis in (policy.victim, policy.placement) if isinstance(axis, _Own)]
        return "+".join([policy.base or "", *map(str, (policy.victim, policy.placement)), *map(_versions, own)])
    if not policy.version:
        raise _native.UsageError(
            f"{policy._shown()} has no version, by which a store of results would know it; give it one, any text that "
            "changes when it decides otherwise"
        )
    return policy.version


def _axis(axis: str | _Own | None) -> str | _native.Maker | None:
    return axis._maker() if isinstance(axis, _Own) else axis


def chosen(policies: str | PolicyLike | Sequence[PolicyLike] | None, given: Given) -> str | None:
    """Policies as the command line lists them."""
    if policies is None:
        return None
    return ",".join(_texts(given.words(policies)))
