"""Policies by name and parameters, as the texts that they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, Union

from ._words import plain

if TYPE_CHECKING:
    from typing_extensions import Self

Whole = Union[SupportsIndex, str, None]
Number = Union[str, float, SupportsIndex, None]
"""A number, or a text with a unit: ``"1h"``."""


class Spec(str):
    """A policy with parameters. It is the text that all calls take for it: ``Cat(tau="1h") == "cat(tau=1h)"``."""

    __slots__ = ()
    _name: ClassVar[str]

    def __new__(cls) -> Self:
        return cls._made()

    @classmethod
    def _made(cls, **parameters: object) -> Self:
        given = ", ".join(f"{name}={_told(value)}" for name, value in parameters.items() if value is not None)
        return str.__new__(cls, f"{cls._name}({given})" if given else cls._name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Elsewhere it is a plain text."""
        return str, (str(self),)


def _told(value: object) -> str:
    value = plain(value)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
