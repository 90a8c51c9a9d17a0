"""Consistency and diversity: how alike the items of a list are, before and after structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data import Events, Features

if TYPE_CHECKING:
    from topwise.models.lasr import LaSR

Values: TypeAlias = npt.NDArray[np.float64]
Vectors: TypeAlias = npt.NDArray[np.floating[Any]]

_BLOCK = 1024  # lists whose items' vectors are held at once


@dataclass(frozen=True, eq=False, repr=False)
class ConsistencyReport:
    """For each query and each measure, a value before and one after.

    "similarity" is the mean cosine over the pairs of a list, by the item vectors of step 0 in both lists;
    "learned similarity" the same by the rows of S; "distance" is 1 − cosine by the items' content, where
    there is any. "kept" is the share of the list before that is in the list after. NaN where a list has no
    two items to compare.
    """

    ids: npt.NDArray[Any]
    before: Mapping[str, Values]
    after: Mapping[str, Values]
    kept: Values
    k: int

    def __getitem__(self, name: str) -> tuple[float, float]:
        """The means before and after."""
        return float(np.nanmean(self.before[name])), float(np.nanmean(self.after[name]))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each query, for a frame of any library."""
        ids = self.ids.tolist()
        return [
            {
                "query": id_,
                "kept": float(self.kept[row]),
                **{f"{name} before": float(values[row]) for name, values in self.before.items()},
                **{f"{name} after": float(values[row]) for name, values in self.after.items()},
            }
            for row, id_ in enumerate(ids)
        ]

    def __repr__(self) -> str:
        pairs = f"mean over pairs of the top {self.k}"
        head = f"{pairs:<30}{'before':>9}{'after':>9}{'change':>9}  rises in"
        lines = [f"{len(self.ids):,} lists, {np.mean(self.kept):.0%} of their items kept", head]
        for name in self.before:
            first, last = self[name]
            rises = np.mean(self.after[name] > self.before[name])
            lines.append(f"{name:<30}{first:>9.3f}{last:>9.3f}{last - first:>+9.3f}  {rises:.0%} of lists")
        return "\n".join(lines)


def compare_lists(
    model: LaSR,
    contexts: Mapping[str, Any],
    k: int,
    item_features: Features | None,
    exclude: Events | None,
    inference: str | None,
) -> ConsistencyReport:
    """The top k of step 0 against those of the whole model."""
    base = model.step(0)
    given = {name: value for name, value in contexts.items() if value is not None}
    if "features" not in given:
        given = {name: np.atleast_1d(np.asarray(ids)) for name, ids in given.items()}
    found, _ = model.recommend(**given, k=k, exclude=exclude, inference=inference)
    first, _ = base.recommend(**given, k=k, exclude=exclude)
    found, first = np.atleast_2d(found), np.atleast_2d(first)
    vocabulary = model.item_vocabulary
    after = vocabulary.codes(found.ravel()).reshape(found.shape)
    before = vocabulary.codes(first.ravel()).reshape(first.shape)
    spaces: dict[str, Vectors] = {}
    ours = base.item_vocabulary.codes(vocabulary.ids)
    spaces["similarity"] = base.item_vectors()[ours][:, : base.dim]
    spaces["learned similarity"] = model.item_vectors()[:, model.columns :]
    measures = {name: (_unit(rows), 1.0) for name, rows in spaces.items()}
    content = item_features.rows(vocabulary) if item_features is not None else model.items_.content
    if content is not None:
        measures["distance"] = (_unit(content.to_dense()), -1.0)
    ids = np.arange(len(after)) if "features" in given else next(iter(given.values()))
    kept = np.array([len(np.intersect1d(a[a >= 0], b[b >= 0])) for a, b in zip(after, before, strict=True)])
    return ConsistencyReport(
        ids,
        {name: _pairs(before, *measure) for name, measure in measures.items()},
        {name: _pairs(after, *measure) for name, measure in measures.items()},
        kept / np.maximum((before >= 0).sum(axis=1), 1),
        k,
    )


def _unit(rows: Vectors) -> Vectors:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, np.finfo(np.float32).tiny), dtype=np.float32)


def _pairs(lists: npt.NDArray[Any], unit: Vectors, sign: float) -> Values:
    """The mean cosine of the pairs of each list, or 1 less it: (|Σ x|² − Σ |x|²) / (n (n − 1))."""
    means = np.full(len(lists), np.nan)
    for start in range(0, len(lists), _BLOCK):
        some = lists[start : start + _BLOCK]
        there = some >= 0
        vectors = unit[np.maximum(some, 0)] * there[:, :, None]
        count = there.sum(axis=1)
        total = vectors.sum(axis=1)
        squares = np.einsum("nkd,nkd->n", vectors, vectors)
        sums = np.einsum("nd,nd->n", total, total) - squares
        several = count > 1
        means[start : start + _BLOCK][several] = sums[several] / (count * (count - 1))[several]
    return means if sign > 0 else 1 - means
