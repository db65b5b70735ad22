"""Writes python/thermocline/_settings.py: the settings of runs and comparisons with their types and help.

The declarations are those of the command line, crates/spec. A test holds the file against them; after a change:
PYTHONPATH=python python python/settings.py
"""

import textwrap
from pathlib import Path

from thermocline import _native

FILE = Path(__file__).parent / "thermocline/_settings.py"
HEAD = '''"""Settings of runs and comparisons, for completion and type checkers. Written by python/settings.py from crates/spec."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, SupportsIndex, TypedDict, Union

if TYPE_CHECKING:
    from .policy import PolicyLike

Number = Union[str, float, SupportsIndex, None]
"""A number, or a text with a unit: ``"7%"``, ``"64MiB"``, ``"10ms"``."""
'''
APART = {
    "run": {"trace", "policy"},
    "compare": {"trace", "policies"},
}
"""Settings that are parameters of their own."""
OWN = {
    "victim": "Union[PolicyLike, None]",
    "placement": "Union[PolicyLike, None]",
    "device": "Union[str, os.PathLike[str], None]",
    "loop": "Number",
}


def type_of(name, value, repeats):
    """How a setting is written in Python."""
    if name in OWN:
        return OWN[name]
    if value is None:
        return "Union[bool, None]"
    words = value.split("|")
    if all(word == word.lower() for word in words) and len(words) > 1:
        one = f"Literal[{', '.join(repr(word).replace(chr(39), chr(34)) for word in words)}]"
        # A list, or words with commas.
        return f"Union[{one}, Sequence[str], str, None]" if repeats else f"Union[{one}, None]"
    numbers = {"SIZE", "SHARE", "N", "TIME", "BLOCKS"}
    if numbers & set(words):
        return "Number"
    return "Union[str, Sequence[str], None]" if repeats else "Union[str, None]"


def written():
    """The file."""
    text = HEAD
    for kind, apart in APART.items():
        text += f'\n\nclass {kind.capitalize()}Settings(TypedDict, total=False):\n    """Settings of ``thermocline.{kind}``."""\n'
        for name, told, value, _, repeats, _ in _native.options(kind):
            if name in apart:
                continue
            help_ = textwrap.fill(told.replace("\\", "\\\\").replace('"""', "'''"), 112, subsequent_indent="    ", break_on_hyphens=False)
            help_ += " " if help_.endswith('"') else ""
            text += f'\n    {name.replace("-", "_")}: {type_of(name, value, repeats)}\n    """{help_}"""\n'
    return text


if __name__ == "__main__":
    FILE.write_text(written())
