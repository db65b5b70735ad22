"""Thermocline: which garbage-collection policy should this flash use?

>>> import thermocline as tc
>>> tc.run(workload="hot-cold:90/10", policy="dac", capacity="32MiB").write_amplification
1.3
"""

from . import policy, results, trace
from ._calls import compare, devices, fleet, policies, reproduce, run, settings, sweep, workloads
from ._native import (
    BrokenError, FailedError, InputError, PolicyError, ThermoclineError, UsageError, __version__,
)
from .policy import NativePlacement, NativeVictim, Placement, Policy, Victim
from .results import Comparison, Fleet, History, Result, Sweep
from .trace import Trace

__all__ = [
    "BrokenError", "Comparison", "FailedError", "Fleet", "History", "InputError", "NativePlacement", "NativeVictim",
    "Placement", "Policy", "PolicyError", "Result", "Sweep", "ThermoclineError", "Trace", "UsageError", "Victim",
    "__version__", "compare", "devices", "fleet", "policies", "policy", "reproduce", "results", "run", "settings", "sweep", "trace", "workloads",
]
