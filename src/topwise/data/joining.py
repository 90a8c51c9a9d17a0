"""Several judgments as one, or as wide as each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topwise.data.csr import Csr
from topwise.data.judgments import Judgments


def aligned(*several: Judgments) -> list[Judgments]:
    """The same judgments, all with as many features as the widest: a file shows only the features it has."""
    width = max(judged.n_features for judged in several)
    return [judged if judged.n_features == width else _widened(judged, width) for judged in several]


def _widened(judged: Judgments, width: int) -> Judgments:
    features = judged.features
    if isinstance(features, Csr):
        return replace(judged, features=Csr(features.indptr, features.indices, width, features.values))
    wide = np.zeros((len(judged), width), dtype=np.float32)
    wide[:, : judged.n_features] = features
    return replace(judged, features=wide)


def concatenated(*several: Judgments) -> Judgments:
    """Judgments one after the other, without comments where one of them has none."""
    if len(several) == 1:
        return several[0]
    ends = np.cumsum([0, *map(len, several)])
    indptr = [judged.indptr[1:] + end for judged, end in zip(several, ends, strict=False)]
    qids = [judged.qids for judged in several]
    if len({ids.dtype for ids in qids}) > 1:
        qids = [np.array([str(id_) for id_ in ids.tolist()], dtype=object) for ids in qids]
    docids = [judged.docids for judged in several if judged.docids is not None]
    comments = [judged.comments for judged in several if judged.comments is not None]
    return Judgments(
        np.concatenate([judged.dense() for judged in several]),
        np.concatenate([judged.labels for judged in several]),
        np.concatenate([np.zeros(1, dtype=np.int64), *indptr]),
        np.concatenate(qids),
        np.concatenate(docids) if len(docids) == len(several) else None,
        np.concatenate(comments) if len(comments) == len(several) else None,
        several[0].feature_names,
    )
