"""Settings of Python as settings by name."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union, cast

Value = Union[str, int, float, bool, None, os.PathLike[str]]
Setting = Union[Value, Iterable[Value]]
# Settings by name, with values unless they stand alone.
Words = Sequence[tuple[str, Union[str, None]]]


def texts(value: Setting) -> list[str]:
    """What is written for a value; several for a list, none for a flag."""
    if isinstance(value, (str, int, float, numbers.Number, os.PathLike)):
        return [_text(value)]
    return [_text(one) for one in value] if value is not None else []


def plain(value: Any) -> Any:
    """A truth value of NumPy as one of Python; all else as it is."""
    return bool(value) if type(value).__name__ in ("bool", "bool_") else value


def _text(value: Value | numbers.Number) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def option(name: str) -> str:
    """``over_provisioning`` is ``over-provisioning``; ``loop_`` is ``loop``."""
    return name.rstrip("_").replace("_", "-")


def words(settings: Mapping[str, Setting]) -> list[tuple[str, str | None]]:
    """``{"over_provisioning": "7%", "check": True}`` as ``[("over-provisioning", "7%"), ("check", None)]``."""
    said: list[tuple[str, str | None]] = []
    for name, value in settings.items():
        value = plain(value)
        if value is None or value is False:
            continue
        if value is True:
            said.append((option(name), None))
        else:
            said.extend((option(name), text) for text in texts(value))
    return said


def axes_of(settings: Mapping[str, Setting]) -> list[tuple[str, list[str]]]:
    """The axes of a grid: an option, and its values or lists of them; none for a flag."""
    plainly = ((name, plain(value)) for name, value in settings.items())
    given = [(name, value) for name, value in plainly if value is not None and value is not False]
    return [(option(name), [] if value is True else texts(value)) for name, value in given]


def numbers_of(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The numbers of a grid, by option and by the texts that stand for them; options that have texts too are left out."""
    found: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        value = plain(value)
        alone = value is None or isinstance(value, (str, numbers.Number, os.PathLike))
        values: list[Any] = [value] if alone else list(cast("Iterable[Any]", value))
        plainly: list[Any] = [one.item() if hasattr(one, "item") else one for one in values]
        if plainly and all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in plainly):
            found[option(name)] = {_text(one): number for one, number in zip(values, plainly, strict=True)}
    return found
