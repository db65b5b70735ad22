"""Thermocline: which garbage-collection policy should this flash use?

>>> import thermocline as tc
>>> tc.run(workload="hot-cold:90/10", policy="dac", capacity="32MiB").write_amplification
1.3
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._native import (
    BrokenError, FailedError, InputError, PolicyError, ThermoclineError, UsageError, __version__,
)

if TYPE_CHECKING:
    from . import policy, results, trace
    from ._calls import compare, devices, reproduce, run, settings, workloads
    from ._fleet import fleet
    from ._lives import Lives, Predictability, lives, predictability
    from ._policies import policies
    from ._progress import ThermoclineWarning
    from ._stream import Rows
    from ._sweep import sweep
    from ._tune import tune
    from .learned import Learned
    from .policy import NativePlacement, NativeVictim, Placement, Policy, Victim
    from .results import Comparison, Fleet, History, Result, Searched, Sweep, Tuned
    from .trace import Trace

__all__ = [
    "BrokenError", "Comparison", "FailedError", "Fleet", "History", "InputError", "Learned", "Lives", "NativePlacement",
    "NativeVictim", "Placement", "Policy", "PolicyError", "Predictability", "Result", "Rows", "Searched", "Sweep",
    "Victim",
    "ThermoclineError", "ThermoclineWarning", "Trace", "Tuned", "UsageError", "__version__", "compare", "devices", "fleet",
    "lives", "policies", "policy", "predictability", "reproduce", "results", "run", "settings", "sweep", "trace", "tune", "workloads",
]

# Modules are loaded when something of them is asked for: a worker or a script starts at once.
_WHERE = {
    "_calls": ("compare", "devices", "reproduce", "run", "settings", "workloads"),
    "_fleet": ("fleet",),
    "_lives": ("Lives", "Predictability", "lives", "predictability"),
    "_policies": ("policies",),
    "_progress": ("ThermoclineWarning",),
    "_stream": ("Rows",),
    "_sweep": ("sweep",),
    "_tune": ("tune",),
    "learned": ("Learned",),
    "policy": ("NativePlacement", "NativeVictim", "Placement", "Policy", "Victim"),
    "results": ("Comparison", "Fleet", "History", "Result", "Searched", "Sweep", "Tuned"),
    "trace": ("Trace",),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in ("gym", "policy", "results", "trace"):
        return import_module(f".{name}", __name__)
    for module, names in _WHERE.items():
        if name in names:
            value = getattr(import_module(f".{module}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
