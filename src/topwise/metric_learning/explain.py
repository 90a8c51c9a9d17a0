"""Which anchors and which features decided a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.metric_learning.local import Floats, LocalMetrics


@dataclass(frozen=True)
class Explanation:
    """The scores of a query's documents, taken apart.

    `by_anchor[i, r]` is −Δ(r) ψ_r(p_i), and `by_feature[i, f]` the share of feature f in that, over all
    anchors: ‖p − p_r‖² under M_r is Σ_f (p − p_r)_f [M_r (p − p_r)]_f, term by term. Both add up to the
    score in each row. `anchors` names each anchor by the query and the document of training it is, and
    `delta` is its weight.
    """

    qid: Any
    scores: npt.NDArray[np.float64]
    labels: npt.NDArray[np.float32]
    delta: Floats
    by_anchor: npt.NDArray[np.float64]
    by_feature: npt.NDArray[np.float64]
    anchors: list[str]
    features: list[str]

    def top(self, document: int, k: int = 5) -> dict[str, list[tuple[str, float]]]:
        """The k anchors and the k features that count most for a document, as differences from the query's
        mean.

        All scores are sums of penalties; what tells documents apart is how they differ.
        """
        out = {}
        for name, names, parts in (
            ("anchors", self.anchors, self.by_anchor),
            ("features", self.features, self.by_feature),
        ):
            apart = parts[document] - parts.mean(axis=0)
            first = np.argsort(-np.abs(apart), kind="stable")[:k]
            out[name] = [(names[i], float(apart[i])) for i in first]
        return out

    def __str__(self) -> str:
        lines = [f"query {self.qid}: {len(self.scores)} documents, best first"]
        for document in np.argsort(-self.scores, kind="stable")[:10].tolist():
            lines.append(
                f"  document {document}  label {self.labels[document]:g}  score {self.scores[document]:.4f}"
            )
            for what, parts in self.top(document, 3).items():
                lines.append(f"    {what}: " + ", ".join(f"{name} {part:+.4f}" for name, part in parts))
        return "\n".join(lines)


def take_apart(
    metrics: LocalMetrics, features: Floats, delta: Floats
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """−Δ(r) ψ_r of each document by anchor, and by feature."""
    by_anchor = np.empty((len(features), metrics.count))
    by_feature = np.zeros(features.shape)
    for r in range(metrics.count):
        apart = features.astype(np.float64) - metrics.anchors[r]
        factor = metrics.factors[r].astype(np.float64)
        terms = apart * ((apart @ factor) @ factor.T)
        squares = np.maximum(terms.sum(axis=1), 0)
        distance = np.sqrt(squares)
        by_anchor[:, r] = -delta[r] * np.exp(-distance) * distance
        share = np.divide(by_anchor[:, r], squares, out=np.zeros_like(squares), where=squares > 0)
        by_feature += terms * share[:, None]
    return by_anchor, by_feature
