"""Embedding and ranking: learn vectors so that the right things stand at the top of the list."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives. Everything is imported on first use, so that ``import topwise`` stays light.
_HOME = {
    "Events": "topwise.data",
    "Features": "topwise.data",
    "sessions": "topwise.data",
    "Judgments": "topwise.data",
    "Normalize": "topwise.data",
    "baselines": "topwise",
    "split": "topwise.data",
    "data": "topwise",
    "datasets": "topwise",
    "evaluation": "topwise",
    "features": "topwise",
    "losses": "topwise",
    "metric_learning": "topwise",
    "models": "topwise",
    "retrieval": "topwise",
    "testing": "topwise",
    "AUC": "topwise.losses",
    "OWPC": "topwise.losses",
    "WARP": "topwise.losses",
    "KOS": "topwise.losses",
    "MatrixFactorization": "topwise.models",
    "ItemBag": "topwise.models",
    "Wsabie": "topwise.models",
    "LCR": "topwise.models",
    "MaxMF": "topwise.models",
    "LaSR": "topwise.models",
    "GMML": "topwise.models",
    "LGMML": "topwise.models",
    "TwoStage": "topwise.two_stage",
    "Run": "topwise.two_stage",
    "two_stage": "topwise",
    "load": "topwise.models",
    "evaluate": "topwise.evaluation",
}

__all__ = [*_HOME, "__version__"]

if TYPE_CHECKING:
    from topwise import baselines as baselines
    from topwise import data as data
    from topwise import datasets as datasets
    from topwise import evaluation as evaluation
    from topwise import features as features
    from topwise import losses as losses
    from topwise import metric_learning as metric_learning
    from topwise import models as models
    from topwise import retrieval as retrieval
    from topwise import testing as testing
    from topwise import two_stage as two_stage
    from topwise.data import Events as Events
    from topwise.data import Features as Features
    from topwise.data import Judgments as Judgments
    from topwise.data import Normalize as Normalize
    from topwise.data import sessions as sessions
    from topwise.data import split as split
    from topwise.evaluation import evaluate as evaluate
    from topwise.losses import AUC as AUC
    from topwise.losses import KOS as KOS
    from topwise.losses import OWPC as OWPC
    from topwise.losses import WARP as WARP
    from topwise.models import GMML as GMML
    from topwise.models import LCR as LCR
    from topwise.models import LGMML as LGMML
    from topwise.models import ItemBag as ItemBag
    from topwise.models import LaSR as LaSR
    from topwise.models import MatrixFactorization as MatrixFactorization
    from topwise.models import MaxMF as MaxMF
    from topwise.models import Wsabie as Wsabie
    from topwise.models import load as load
    from topwise.two_stage import Run as Run
    from topwise.two_stage import TwoStage as TwoStage


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'topwise' has no attribute {name!r}")
    if home == "topwise":
        value: Any = importlib.import_module(f"topwise.{name}")
    else:
        value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
