"""The search of `topwise tune`: trials that are watched epoch by epoch, and cut off when they are poor."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwise.cli.errors import Interrupts
from topwise.cli.inputs import Inputs
from topwise.cli.model_options import Options, build_model
from topwise.evaluation import Metric

if TYPE_CHECKING:
    import optuna

DIMS = (16, 32, 64, 96, 128)
# What the search begins with, beside the model's defaults.
MAX_NORM = 2.0


@dataclass(frozen=True)
class Trial:
    """What came of one choice of settings. `state` is "complete", "pruned" or "failed"."""

    number: int
    state: str
    value: float | None
    seconds: float
    settings: Options
    is_best: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data, trials counted from 1."""
        return {**asdict(self), "number": self.number + 1}


class Search:
    """A study of Optuna over the settings that were not given, kept in a file if one is named."""

    def __init__(
        self, kind: str, fixed: Options, losses: list[str], inputs: Inputs, seed: int, file: str | None
    ) -> None:
        self.kind = kind
        self.fixed = fixed
        self.losses = losses
        self.inputs = inputs
        self.seed = seed
        self.metric = Metric.parse(build_model(kind, fixed).metric)
        self._deadline: float | None = None
        self._study = self._opened(file)

    def run(
        self,
        trials: int,
        timeout: float | None,
        on_start: Callable[[Search, int], None],
        on_trial: Callable[[Search, Trial], None],
    ) -> None:
        """As many trials as are missing of so many in all, or as fit into the time."""
        from topwise.training import DivergenceError

        missing = max(0, trials - len(self.trials()))
        on_start(self, missing)
        if missing == 0:
            return
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._study.optimize(
            self._objective,
            n_trials=missing,
            timeout=timeout,
            catch=(DivergenceError,),
            callbacks=[lambda _, trial: on_trial(self, self._told(trial))],
        )

    def trials(self) -> list[Trial]:
        """All trials that came to an end."""
        return [self._told(trial) for trial in self._study.get_trials(deepcopy=False) if _ended(trial)]

    def best(self) -> Trial | None:
        """The best of those that were not cut off."""
        return next((trial for trial in self.trials() if trial.is_best), None)

    # --- one trial ----------------------------------------------------------------------------------------

    def suggested(self, trial: optuna.Trial | optuna.trial.FrozenTrial) -> Options:
        """A choice for each of the settings that were not given."""
        chosen: Options = {}
        if "loss" not in self.fixed:
            chosen["loss"] = trial.suggest_categorical("loss", self.losses)
        if self.fixed.get("loss", chosen.get("loss")) != "auc" and not {"alpha", "top"} & set(self.fixed):
            chosen["alpha"] = trial.suggest_categorical("alpha", ["1/i", "ndcg"])
        if "dim" not in self.fixed:
            chosen["dim"] = trial.suggest_categorical("dim", DIMS)
        if "max_norm" not in self.fixed:
            chosen["max_norm"] = _rounded(trial.suggest_float("max_norm", 0.8, 6.4, log=True))
        if "learning_rate" not in self.fixed:
            chosen["learning_rate"] = _rounded(trial.suggest_float("learning_rate", 0.05, 3.2, log=True))
        if "epochs" not in self.fixed:
            chosen["epochs"] = trial.suggest_int("epochs", 10, 60, step=5)
        return chosen

    def _objective(self, trial: optuna.Trial) -> float:
        import optuna

        model: Any = build_model(self.kind, {**self.fixed, **self.suggested(trial)})
        reported = 0

        def watch(record: Any) -> bool:
            # Steps are tenths of a trial, so that trials of different lengths can be compared.
            nonlocal reported
            if (tenth := 10 * record.epoch // model.epochs) > reported:
                reported = tenth
                trial.report(record.validation, tenth)
                if trial.should_prune():
                    raise optuna.TrialPruned
            return self._deadline is None or time.monotonic() < self._deadline

        with Interrupts() as interrupts, warnings.catch_warnings():
            # The model of a trial that Ctrl-C ended is of no use here.
            warnings.filterwarnings("ignore", message="interrupted after")
            model.fit(
                self.inputs.train,
                self.inputs.validation,
                callback=watch,
                progress=False,
                **self.inputs.feature_arguments(),
            )
        if interrupts.hit:
            raise KeyboardInterrupt
        return float(model.history_records_[model.best_epoch_ - 1]["validation"])

    def _settings_of(self, trial: optuna.trial.FrozenTrial) -> Options:
        try:
            return self.suggested(trial)
        except ValueError:  # Ctrl-C came before all of them were drawn
            return {}

    def _told(self, trial: optuna.trial.FrozenTrial) -> Trial:
        complete = trial.state.name == "COMPLETE"
        return Trial(
            number=trial.number,
            state={"FAIL": "failed"}.get(trial.state.name, trial.state.name.lower()),
            value=trial.value if complete else None,
            seconds=0.0 if trial.duration is None else round(trial.duration.total_seconds(), 3),
            settings=self._settings_of(trial),
            is_best=complete and trial.number == self._study.best_trial.number,
        )

    # --- the study ----------------------------------------------------------------------------------------

    def _opened(self, file: str | None) -> optuna.Study:
        import optuna

        # What goes wrong in a trial is told once, and not by Optuna.
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(
            storage=None if file is None else f"sqlite:///{Path(file).resolve()}",
            study_name="topwise",
            load_if_exists=True,
            direction="minimize" if self.metric.lower_is_better else "maximize",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=3),
        )
        done = len(study.get_trials(deepcopy=False))
        # A study that goes on must not draw the same settings once more.
        study.sampler = optuna.samplers.TPESampler(seed=self.seed + done)
        self._check_same(study, file)
        if done == 0:
            study.enqueue_trial(self._start())
        return study

    def _start(self) -> Options:
        """The defaults, so that the search never ends below them."""
        defaults = build_model(self.kind, {}).get_params()
        start = {name: defaults[name] for name in ("dim", "learning_rate", "epochs")}
        loss = "warp" if "warp" in self.losses else self.losses[0]
        start |= {"max_norm": MAX_NORM, "loss": loss, "alpha": "1/i"}
        return {name: value for name, value in start.items() if name not in self.fixed}

    def _check_same(self, study: optuna.Study, file: str | None) -> None:
        """Trials on other events, or with other options, must not be compared with these."""
        ours = json.dumps([self.kind, self.fixed, self.losses, self.metric.name, _fingerprint(self.inputs)])
        theirs = study.user_attrs.get("of")
        if theirs is not None and theirs != ours:
            raise ValueError(
                f"{file} has a search with other events, model, metric or options: "
                "repeat the same command to go on with it, or give another --study"
            )
        study.set_user_attr("of", ours)


def _ended(trial: optuna.trial.FrozenTrial) -> bool:
    # Without its settings chosen, a trial was broken off before it began.
    return trial.state.is_finished() and (bool(trial.params) or trial.state.name == "COMPLETE")


def _rounded(value: float) -> float:
    """Three digits: more say nothing, and would have to be typed."""
    return float(f"{value:.3g}")


def _fingerprint(inputs: Inputs) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for log in filter(None, (inputs.train, inputs.validation)):
        digest.update(log.item.tobytes())
        digest.update(log.codes(log.context_role).tobytes())
    return digest.hexdigest()
