"""Fitting: epochs, schedules, validation and stopping, checkpoints, progress."""

from topwise.training.fit import EpochRecord, FitOptions, fit_model
from topwise.training.folding import fold_in
from topwise.training.session import DivergenceError

__all__ = ["DivergenceError", "EpochRecord", "FitOptions", "fit_model", "fold_in"]
