"""Tuning: Optuna proposes policies and parameters, the simulator searches a part and confirms on the rest."""

from __future__ import annotations

import importlib
import json
import math
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _native
from . import trace as _trace
from ._places import Options, Places
from ._progress import Progress, Telling
from ._words import Setting, axes_of, texts
from .results import Tuned

if TYPE_CHECKING:
    import optuna

_Candidate = tuple[int, tuple[int, ...], tuple[int, ...]]
_Share = Union[str, float]


def tune(
    trace: _trace.TraceLike | None = None,
    policies: str | Sequence[str] | None = None,
    *,
    aim: str = "write-amplification",
    budget: int = 100,
    part: _Share = 0.6,
    price: float = 1.0,
    parameters: bool = True,
    study: optuna.Study | None = None,
    threads: int = 0,
    storage_options: Options = None,
    progress: Progress = None,
    **settings: Setting,
) -> Tuned:
    """Finds the policy and the parameters that suit a trace best: ``tune("a.tct", aim="lifetime", budget=60,
    over_provisioning="7%..28%/3%", block_size=["256KiB", "1MiB"])``.

    The candidates, the rounds and the confirmation are those of ``thermocline tune``: ``part`` of the requests is
    searched for ``aim`` (``write-amplification``, ``lifetime``, ``p99``, ``memory`` or a key of results) among
    ``policies``, their ``parameters``, the watermark and every setting with a list or a range; the choice and the
    Pareto front run on the rest as well. ``price`` is what space costs where over-provisioning is searched. Candidates
    are proposed by Optuna: by tree-structured Parzen estimators of one seed (``seed=``), or by ``study``, an
    ``optuna.Study`` that minimises, with a sampler, a storage and a dashboard of yours.

    ``budget`` is the number of simulations, ``threads`` how many at a time (0: one a core).
    """
    places = Places([] if trace is None else [trace], storage_options)
    chosen = None if policies is None else ",".join(texts(policies))
    said = {"trace": places.local() or None, "policy": chosen, **settings}
    proposer = _Proposer(study)
    share = float(part[:-1]) / 100 if isinstance(part, str) and part.endswith("%") else float(part)
    with Telling(progress) as listener:
        told = _native.tune(
            axes_of(said), aim, (budget, share, price), not parameters, threads, proposer, places.memories, listener
        )
    return Tuned(json.loads(told), proposer.study)


def _optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError:
        raise _native.UsageError("tune needs Optuna; pip install 'thermocline[tune]'") from None


class _Proposer:
    """A study of Optuna among the candidates of the simulator."""

    def __init__(self, study: Any) -> None:
        self._optuna = _optuna()
        self.study = study
        self._space: dict[str, Any] = {}
        self._calls: list[str] = []
        """The policies that went on."""
        self._scores: dict[_Candidate, float] = {}
        self._asked: dict[_Candidate, Any] = {}

    def begin(self, told: str) -> None:
        """Policies were chosen that go on."""
        self._space = json.loads(told)
        self._calls = [self._space["policies"][at]["call"] for at in self._space["kept"]]
        if self.study is None:
            optuna = self._optuna
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sampler = optuna.samplers.TPESampler(seed=self._space["seed"] % 2**32, constant_liar=True)
            if "OPTUNA_VERBOSE" not in os.environ:
                optuna.logging.set_verbosity(optuna.logging.WARNING)
            self.study = optuna.create_study(direction="minimize", sampler=sampler)

    def ask(self) -> _Candidate:
        """A candidate that Optuna proposes."""
        trial = self.study.ask()
        call = trial.suggest_categorical("policy", self._calls)
        policy = self._space["kept"][self._calls.index(call)]

        def chosen(name: str, dimension: dict[str, Any]) -> int:
            if dimension["ordered"]:
                return trial.suggest_int(name, 0, len(dimension["values"]) - 1)
            return self._texts(dimension).index(trial.suggest_categorical(name, self._texts(dimension)))

        common = tuple(chosen(one["name"], one) for one in self._space["common"])
        own = self._space["policies"][policy]["parameters"]
        candidate = (policy, common, tuple(chosen(f"{call}.{one['name']}", one) for one in own))
        if candidate in self._scores:
            self.study.tell(trial, self._scores[candidate])
        elif candidate in self._asked:
            self.study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._asked[candidate] = trial
        return candidate

    def tell(self, policy: int, common: Sequence[int], parameters: Sequence[int], score: float | None) -> None:
        """A candidate was tried."""
        if policy not in self._space["kept"]:
            return
        candidate = (policy, tuple(common), tuple(parameters))
        # What cannot run is worse than anything that can.
        self._scores[candidate] = value = math.inf if score is None else score
        trial = self._asked.pop(candidate, None)
        if trial is not None:
            self.study.tell(trial, value)
            return
        call = self._space["policies"][policy]["call"]
        own = self._space["policies"][policy]["parameters"]
        all_ = [(one["name"], one, at) for one, at in zip(self._space["common"], common, strict=True)]
        all_ += [(f"{call}.{one['name']}", one, at) for one, at in zip(own, parameters, strict=True)]
        kinds = self._optuna.distributions
        values: dict[str, Any] = {"policy": call}
        distributions: dict[str, Any] = {"policy": kinds.CategoricalDistribution(self._calls)}
        for name, one, at in all_:
            values[name] = at if one["ordered"] else self._texts(one)[at]
            last = len(one["values"]) - 1
            distributions[name] = (
                kinds.IntDistribution(0, last) if one["ordered"] else kinds.CategoricalDistribution(self._texts(one))
            )
        made = self._optuna.trial.create_trial(params=values, distributions=distributions, value=value)
        self.study.add_trial(made)

    @staticmethod
    def _texts(dimension: dict[str, Any]) -> list[str]:
        return [value if value is not None else "default" for value in dimension["values"]]
