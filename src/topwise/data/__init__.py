"""Events, judgments, features, vocabularies and splits: what models learn from."""

from __future__ import annotations

from topwise.data import sessions, split
from topwise.data.csr import Csr
from topwise.data.events import Events
from topwise.data.features import Features
from topwise.data.judgments import Judgments
from topwise.data.normalize import Normalize
from topwise.data.pairs import Pairs
from topwise.data.vocabulary import Vocabulary

__all__ = [
    "Csr",
    "Events",
    "Features",
    "Judgments",
    "Normalize",
    "Pairs",
    "Vocabulary",
    "sessions",
    "split",
]
