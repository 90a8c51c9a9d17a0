"""Search in two stages: candidates by an embedding model or a run, re-ranked by a ranker of judged rows."""

from __future__ import annotations

from topwise.two_stage.features import FEATURES, Pairs
from topwise.two_stage.model import TwoStage
from topwise.two_stage.run import Run

__all__ = ["FEATURES", "Pairs", "Run", "TwoStage"]
