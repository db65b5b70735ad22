"""Thermocline: which garbage-collection policy should this flash use?

>>> import thermocline as tc
>>> tc.run(workload="hot-cold:90/10", policy="dac", capacity="32MiB").write_amplification
1.3
"""

from . import results, trace
from ._calls import compare, devices, fleet, policies, reproduce, run, settings, sweep, workloads
from ._native import BrokenError, FailedError, InputError, ThermoclineError, UsageError, __version__
from .results import Comparison, Fleet, History, Result, Sweep
from .trace import Trace

__all__ = [
    "BrokenError", "Comparison", "FailedError", "Fleet", "History", "InputError", "Result", "Sweep",
    "ThermoclineError", "Trace", "UsageError", "__version__", "compare", "devices", "fleet", "policies",
    "reproduce", "results", "run", "settings", "sweep", "trace", "workloads",
]
