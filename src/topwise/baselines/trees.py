"""Ensembles of regression trees on LightGBM: LambdaMART and GBRT. Needs the extra `ltr`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Judgments
from topwise.models.feature_ranker import FeatureRanker
from topwise.models.params import check_above_zero, check_count

if TYPE_CHECKING:
    from topwise.models.files import Tensors

_FEW = 2**21  # numbers, of which one thread makes a tree in some milliseconds
_MOST_LABEL = 30  # LightGBM's table of gains ends here


class TreeRanker(FeatureRanker):
    """Boosted regression trees (LightGBM).

    Parameters
    ----------
    trees: their number, at most; fewer when `patience` is over.
    learning_rate: what a tree counts.
    leaves: of a tree, at most.
    min_rows: of a leaf, at least.
    features, rows: the share of features, and of rows, that a tree sees.
    l2: the penalty of leaves' values.
    patience: with validation, the trees without a better ndcg@10 (LightGBM's, gains 2^label − 1; the squared
        error, for labels that are no grades) after which it stops, to keep the best number; None keeps all.
    normalize: None, since trees do not mind the scale; "minmax" compares the rows within each query.
    threads: None is all cores, or one for few rows, for which threads would wait more than work.
    seed: of everything random; the same seed and threads give the same trees.

    `paper()` makes the form that the L-GMML paper measures.
    """

    _objective: ClassVar[str]

    def __init__(
        self,
        trees: int = 1000,
        learning_rate: float = 0.05,
        leaves: int = 31,
        *,
        min_rows: int = 50,
        features: float = 0.7,
        rows: float = 0.8,
        l2: float = 1.0,
        patience: int | None = 100,
        normalize: str | None = None,
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        self.trees = trees
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.min_rows = min_rows
        self.features = features
        self.rows = rows
        self.l2 = l2
        self.patience = patience
        self.normalize = normalize
        self.threads = threads
        self.seed = seed

    booster_: Any
    n_trees_: int

    @classmethod
    def paper(cls, **params: Any) -> Self:
        """5000 trees of 10 leaves without an early end: the paper gives their number, all else is usual."""
        usual = {"trees": 5000, "learning_rate": 0.1, "leaves": 10, "min_rows": 1, "features": 1.0}
        return cls(**{**usual, "rows": 1.0, "l2": 0.0, "patience": None, **params})

    def check_params(self) -> None:
        """Refuses parameters that cannot be trained with."""
        super().check_params()
        for name, least in (("trees", 1), ("leaves", 2), ("min_rows", 1), ("seed", 0)):
            check_count(name, getattr(self, name), least)
        check_above_zero("learning_rate", self.learning_rate)
        for name in ("features", "rows"):
            check_above_zero(name, getattr(self, name))
            if getattr(self, name) > 1:
                raise ValueError(f"{name} must be a share of at most 1, got {getattr(self, name)}")
        if not 0 <= float(self.l2) < np.inf:
            raise ValueError(f"l2 must be at least 0 and finite, got {self.l2}")
        for name in ("patience", "threads"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))

    def settings(self, cells: int = _FEW) -> dict[str, Any]:
        """What LightGBM is told, for so many numbers (rows times features)."""
        return {
            "objective": self._objective,
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.min_rows,
            "feature_fraction": self.features,
            "bagging_fraction": self.rows,
            "bagging_freq": 0 if self.rows == 1 else 1,
            "lambda_l2": self.l2,
            "eval_at": [10],
            "seed": self.seed,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": self._threads(cells),
            "verbosity": -1,
        }

    def _fit(self, judged: Judgments, validation: Judgments | None) -> None:
        lightgbm = _lightgbm()
        train = self._dataset(lightgbm, judged)
        callbacks, valid_sets = [], []
        if validation is not None and self.patience is not None:
            valid_sets = [self._dataset(lightgbm, validation, train)]
            callbacks = [lightgbm.early_stopping(self.patience, verbose=False)]
        settings = self.settings(len(judged) * judged.n_features) | {
            "metric": "ndcg" if _are_grades(judged.labels) else "l2"
        }
        booster = lightgbm.train(settings, train, self.trees, valid_sets=valid_sets, callbacks=callbacks)
        self.n_trees_ = booster.best_iteration if valid_sets else booster.num_trees()
        # Without the trees past the best, as it would come from a file.
        self.booster_ = lightgbm.Booster(model_str=booster.model_to_string(num_iteration=self.n_trees_))

    def _dataset(self, lightgbm: Any, judged: Judgments, reference: Any = None) -> Any:
        return lightgbm.Dataset(
            _rows(judged),
            self._labels(judged),
            group=judged.lengths(),
            reference=reference,
            free_raw_data=True,
            params={"verbosity": -1},
        )

    def _labels(self, judged: Judgments) -> npt.NDArray[np.float32]:
        return judged.labels

    def _score(self, judged: Judgments) -> npt.NDArray[Any]:
        return np.asarray(
            self.booster_.predict(_rows(judged), num_threads=self._threads(len(judged) * judged.n_features))
        )

    def importance(self) -> npt.NDArray[np.float64]:
        """By how much the splits on each feature lowered the loss."""
        self._check_fitted()
        return np.asarray(self.booster_.feature_importance("gain"), dtype=np.float64)

    def _threads(self, cells: int) -> int:
        if self.threads is not None:
            return self.threads
        return (os.cpu_count() or 1) if cells >= _FEW else 1

    def _tensors(self) -> tuple[Tensors, dict[str, Any]]:
        text = self.booster_.model_to_string().encode()
        return {"trees": np.frombuffer(text, dtype=np.uint8)}, {"n_trees": self.n_trees_}

    def _restore(self, tensors: Tensors, state: dict[str, Any]) -> None:
        self.n_trees_ = int(state["n_trees"])
        self.booster_ = _lightgbm().Booster(model_str=tensors["trees"].tobytes().decode())


class LambdaMART(TreeRanker):
    """LambdaMART (Burges, 2010): trees along the gradients of pairs, each weighted by its change of NDCG."""

    _objective = "lambdarank"

    def _labels(self, judged: Judgments) -> npt.NDArray[np.float32]:
        if not _are_grades(judged.labels):
            wrong = judged.labels[(judged.labels != np.floor(judged.labels)) | (judged.labels > _MOST_LABEL)]
            raise ValueError(
                f"LambdaMART needs whole labels of at most {_MOST_LABEL}, got {wrong[0]:g}: "
                "use GBRT, or round the labels"
            )
        return judged.labels


class GBRT(TreeRanker):
    """Gradient boosted regression trees (Friedman, 2001): the squared error of the labels, row by row."""

    _objective = "regression"


def _are_grades(labels: npt.NDArray[np.float32]) -> bool:
    """Whether LightGBM can rank by these labels."""
    return bool(((labels == np.floor(labels)) & (labels <= _MOST_LABEL)).all())


def _rows(judged: Judgments) -> Any:
    features = judged.features
    if not isinstance(features, Csr):
        return features
    from scipy.sparse import csr_matrix

    return csr_matrix(features.to_scipy())


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError("LambdaMART and GBRT need LightGBM: pip install 'topwise[ltr]'") from error
    return lightgbm
