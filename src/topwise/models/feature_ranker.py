"""What every ranker of judged rows shares: parameters, checks, the scale of features, files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from topwise.data import Judgments, Normalize
from topwise.data.normalize import KINDS
from topwise.models.params import Params, check_choice
from topwise.models.serving import NotFittedError

if TYPE_CHECKING:
    from topwise.evaluation import Report
    from topwise.models.files import Tensors

Scores = npt.NDArray[np.float64]


class FeatureRanker(Params):
    """A score for each row of features. A ranker adds `_fit`, `_score`, `_tensors` and `_restore`.

    Its constructor has the parameter `normalize`: "l2", "standard", "minmax" or None. What that learns comes
    from the training rows alone, and is saved with the model.
    """

    normalize: str | None

    n_features_: int
    feature_names_: list[str] | None
    normalize_: Normalize | None

    # --- for rankers --------------------------------------------------------------------------------------

    def _fit(self, judged: Judgments, validation: Judgments | None) -> None:
        """Learns from judgments whose features have their scale."""
        raise NotImplementedError

    def _score(self, judged: Judgments) -> npt.NDArray[Any]:
        """A score a row, of judgments whose features have their scale."""
        raise NotImplementedError

    def _score_as_given(self, judged: Judgments) -> npt.NDArray[Any]:
        """A score a row, of judgments as they come; for rankers that need not write the scaled ones down."""
        return self._score(self._scaled(judged))

    def _tensors(self) -> tuple[Tensors, dict[str, Any]]:
        """What was learned, as tensors and plain data."""
        raise NotImplementedError

    def _restore(self, tensors: Tensors, state: dict[str, Any]) -> None:
        """The way back."""
        raise NotImplementedError

    def check_params(self) -> None:
        """Refuses parameters that cannot be trained with."""
        if self.normalize is not None:
            check_choice("normalize", self.normalize, KINDS)

    # --- fitting and scoring ------------------------------------------------------------------------------

    def fit(self, judged: Judgments, validation: Judgments | None = None) -> Self:
        """Learns to put rows of higher labels first in each query. `validation` is for choosing, if given."""
        self.check_params()
        _check_judged("judged", judged)
        if validation is not None:
            _check_judged("validation", validation)
            _check_width("validation", validation, judged.n_features)
        first = np.repeat(judged.labels[judged.indptr[:-1]], judged.lengths())
        if (judged.labels == first).all():
            raise ValueError(
                "judgments must have a query with rows of different labels, or there is nothing to learn; "
                f"got {judged!r}"
            )
        self.n_features_ = judged.n_features
        self.feature_names_ = judged.feature_names
        self.normalize_ = None if self.normalize is None else Normalize(self.normalize).fit(judged)
        self._fit(self._scaled(judged), None if validation is None else self._scaled(validation))
        return self

    def score(self, judged: Judgments) -> Scores:
        """A score for each row, in the order of the rows; higher is better."""
        self._check_fitted()
        if not isinstance(judged, Judgments):
            raise TypeError(f"judged must be judgments (tw.Judgments), got {type(judged).__name__}")
        _check_width("judged", judged, self.n_features_)
        if len(judged) == 0:
            return np.empty(0)
        return np.asarray(self._score_as_given(judged), dtype=np.float64)

    def evaluate(self, judged: Judgments, metrics: Any = None, convention: str = "standard") -> Report:
        """`tw.evaluate` of this model."""
        from topwise.evaluation import evaluate

        return evaluate(self, judged, metrics=metrics, convention=convention)

    def _scaled(self, judged: Judgments) -> Judgments:
        return judged if self.normalize_ is None else self.normalize_.transform(judged)

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_features_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Writes the model into one safetensors file. A crash while saving leaves an old file whole."""
        from topwise.models.files import save_model

        self._check_fitted()
        save_model(self, path)

    def to_parts(self) -> tuple[Tensors, dict[str, Any]]:
        """Everything as tensors and plain data."""
        tensors, state = self._tensors()
        if self.normalize_ is not None:
            tensors = {**tensors, **self.normalize_.tensors()}
        header = {"n_features": self.n_features_, "feature_names": self.feature_names_, "state": state}
        return tensors, {"class": type(self).__name__, "params": self.get_params(), **header}

    @classmethod
    def from_parts(cls, header: dict[str, Any], tensors: Tensors) -> Self:
        """The model that `to_parts` took apart."""
        model = cls(**header["params"])
        model.n_features_ = int(header["n_features"])
        model.feature_names_ = header["feature_names"]
        kind = model.normalize
        model.normalize_ = None if kind is None else Normalize.from_tensors(kind, tensors)
        model._restore(tensors, header["state"])
        return model


def _check_judged(name: str, judged: Any) -> None:
    if not isinstance(judged, Judgments):
        raise TypeError(f"{name} must be judgments (tw.Judgments), got {type(judged).__name__}")
    if len(judged) == 0:
        raise ValueError(f"{name} must have at least one row, got none")


def _check_width(name: str, judged: Judgments, width: int) -> None:
    if judged.n_features != width:
        raise ValueError(
            f"{name} must have the {width} features of fitting, got {judged.n_features}: "
            f"files are read to a width by n_features={width}"
        )
