"""How well models rank: metrics over the whole catalogue, their intervals, comparisons, and TREC files."""

from __future__ import annotations

from topwise.evaluation.compare import Comparison, compare
from topwise.evaluation.full import evaluate
from topwise.evaluation.metrics import Metric, check_metric
from topwise.evaluation.ranking import Ranker
from topwise.evaluation.report import Report
from topwise.evaluation.trec import write_qrels, write_run

__all__ = [
    "Comparison",
    "Metric",
    "Ranker",
    "Report",
    "check_metric",
    "compare",
    "evaluate",
    "write_qrels",
    "write_run",
]
