"""Metrics in closed form, local metrics with anchors, and the weights that put them together."""

from topwise.metric_learning.geometric import GeometricMean
from topwise.metric_learning.local import LocalMetrics, MetricLearner, MetricSettings
from topwise.metric_learning.rules import RULES, Likeness
from topwise.metric_learning.similarity import similarity_judgments
from topwise.metric_learning.weights import Candidates, WarpSettings

__all__ = [
    "RULES",
    "Candidates",
    "GeometricMean",
    "Likeness",
    "LocalMetrics",
    "MetricLearner",
    "MetricSettings",
    "WarpSettings",
    "similarity_judgments",
]
