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
    kinds = {kind: [declared(*option) for option in _native.options(kind) if option[0] not in apart] for kind, apart in APART.items()}
    common = [setting for setting in kinds["run"] if setting in kinds["compare"]]
    text = HEAD + class_of("CommonSettings", "TypedDict, total=False", "Settings of runs and of comparisons.", common)
    for kind, settings in kinds.items():
        own = [setting for setting in settings if setting not in common]
        text += class_of(f"{kind.capitalize()}Settings", "CommonSettings, total=False", f"Settings of ``thermocline.{kind}``.", own)
    return text


def class_of(name, bases, told, settings):
    """A class of settings."""
    return f'\n\nclass {name}({bases}):\n    """{told}"""\n' + "".join(settings)


def declared(name, told, value, _, repeats, *__):
    """A setting as a field."""
    help_ = textwrap.fill(told.replace("\\", "\\\\").replace('"""', "'''"), 112, subsequent_indent="    ", break_on_hyphens=False)
    help_ += " " if help_.endswith('"') else ""
    return f'\n    {name.replace("-", "_")}: {type_of(name, value, repeats)}\n    """{help_}"""\n'


if __name__ == "__main__":
    FILE.write_text(written())
