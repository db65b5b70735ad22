"""Writes python/thermocline/_settings.py, the settings of runs and comparisons with their types and help, and
_policies.py, the policies with their parameters.

The declarations are those of the command line, crates/spec. A test holds the files against them; after a change:
PYTHONPATH=python python python/settings.py
"""

import json
import keyword
import textwrap
from pathlib import Path

from thermocline import _native

POLICIES = Path(__file__).parent / "thermocline/_policies.py"
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


POLICIES_HEAD = '''"""Policies with their parameters, for completion and type checkers. Written by python/settings.py."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _native
from ._spec import Number, Spec, Whole

if TYPE_CHECKING:
    from typing_extensions import Self
'''
POLICIES_TAIL = '''

class Policies:
    """The policies there are. :data:`thermocline.policies` is the one object of this class: called, it lists them; its
    attributes make presets with parameters, and those of ``victim``, ``placement``, ``idle`` and ``dead_data`` make these."""

    victim = Victims
    placement = Placements
    idle = Idle
    dead_data = DeadData
{presets}
    def __call__(self) -> list[dict[str, Any]]:
        """Presets, victim policies, placements and the rest, with parameters and sources."""
        return json.loads(_native.listed("policies"))


policies = Policies()
'''
PRESET_AXES = [
    {"name": "victim", "meaning": "In place of its own", "default": None, "expected": "a victim policy", "example": "greedy"},
    {"name": "placement", "meaning": "In place of its own", "default": None, "expected": "a placement", "example": "one-stream"},
]
AXES = {"victim": "Victims", "placement": "Placements", "idle": "Idle", "dead-data": "DeadData"}
TOLD = {"victim": "Victim policies", "placement": "Placements", "idle": "Garbage collection in idle time", "dead-data": "Sources of dead data"}


def class_name(name):
    """``cost-benefit-sqrt`` is ``CostBenefitSqrt``."""
    made = "".join(part[:1].upper() + part[1:] for part in name.split("-"))
    return made + "_" if keyword.iskeyword(made) else made


def parameter_type(expected):
    """How a parameter is written in Python."""
    words = expected.split(" | ")
    if len(words) > 1:
        return f"Union[Literal[{', '.join(json.dumps(word) for word in words)}], None]"
    if expected == "yes or no":
        return "Union[bool, None]"
    if expected.startswith("a whole number"):
        return "Whole"
    return "Number" if expected.startswith("a number") or expected.startswith("a time") else "Union[str, None]"


def refused(policy):
    """Why the simulator does not take a policy."""
    try:
        _native.run([("workload", "uniform"), ("capacity", "16MiB"), ("bytes", "1MiB"), ("policy", policy)], {}, None, False)
    except _native.UsageError as error:
        return str(error)
    return ""


def parameters_of_preset(preset, entries):
    """Those of what it is made of, whose names the simulator tells when it is given another; and its two axes."""
    names = refused(preset + "(no-such-name=1)").rpartition("; it ")[2]
    named = list(dict.fromkeys(names.removeprefix("has ").split(", "))) if names.startswith("has ") else []
    own = sorted(entries, key=lambda entry: entry["name"] != preset)
    known = {one["name"]: one for entry in reversed(own) for one in entry["parameters"]}
    # Defaults are those of the preset.
    axes = [one for one in PRESET_AXES if not refused(f"{preset}({one['name']}={one['example']})")]
    return [{**known[name], "default": None} for name in named] + axes


def policy_class(entry, parameters, indent=""):
    """A class that makes the text of a policy."""
    name = entry["name"]
    told = f"{entry['summary'][:1].upper()}{entry['summary'][1:]}. Source: {entry['source']}."
    lines = [f"class {class_name(name)}(Spec):", *doc(told, indent + "    ")]
    if parameters:
        lines[-1] = lines[-1].removesuffix('"""')
        for one in parameters:
            default = f" [default: {one['default']}]" if one["default"] is not None else ""
            meant = f"``{one['name']}``: {one['meaning'].rstrip('.')} ({one['expected']}){default}."
            lines += ["", *textwrap.wrap(meant, 112, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)]
        lines.append('    """')
    lines += ["", f'    _name = "{name}"']
    if parameters:
        arguments = ", ".join(f"{one['name']}: {parameter_type(one['expected'])} = None" for one in parameters)
        values = ", ".join(f"{one['name']}={one['name']}" for one in parameters)
        lines += ["", f"    def __new__(cls, *, {arguments}) -> Self:", f"        return cls._made({values})"]
    return "".join(f"{indent}{line}".rstrip() + "\n" for line in lines)


def doc(text, indent):
    """A docstring."""
    wrapped = textwrap.wrap(text.replace("\\", "\\\\"), 112 - len(indent), break_on_hyphens=False)
    return [f'    """{wrapped[0]}', *(f"    {line}" for line in wrapped[1:-1]), f'    {wrapped[-1]}"""'] if len(wrapped) > 1 else [f'    """{wrapped[0]}"""']


def policies():
    """The file of policies."""
    entries = json.loads(_native.listed("policies"))
    text = POLICIES_HEAD
    for axis, kind in AXES.items():
        text += f'\n\nclass {kind}:\n    """{TOLD[axis]}, with their parameters."""\n'
        for entry in entries:
            if entry["axis"] == axis:
                text += "\n" + policy_class(entry, entry["parameters"], "    ")
    presets = ""
    for entry in entries:
        if entry["axis"] == "preset":
            parts = [one for one in entries if one["axis"] != "preset"]
            presets += "\n" + policy_class(entry, parameters_of_preset(entry["name"], parts), "    ")
    return text + POLICIES_TAIL.replace("{presets}", presets)


if __name__ == "__main__":
    POLICIES.write_text(policies())
    FILE.write_text(written())
