"""What the papers compare with, on the libraries that do it well; each is fitted and used like a model."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Where each baseline lives. They are imported on first use, for each brings a library of its own.
_HOME = {
    "Popularity": "popularity",
    "SVD": "svd",
    "NMF": "nmf",
    "Mix": "mix",
    "Cosine": "cosine",
    "TFIDF": "cosine",
    "LSI": "lsi",
    "LSITFIDF": "lsi",
    "NearestMeans": "means",
    "OneVsRest": "one_vs_rest",
    "MulticlassRankSVM": "multiclass",
    "PairRankSVM": "pair_svm",
    "HashKernel": "hash_kernel",
    "PSI": "psi",
    "EASE": "ease",
    "IALS": "implicit_models",
    "BPR": "implicit_models",
    "LambdaMART": "trees",
    "GBRT": "trees",
    "RankSVM": "linear",
    "ListNet": "linear",
    "MLR": "mlr",
    "RMLR": "mlr",
}

# The extra that brings each library.
_EXTRA = {
    "sklearn": "baselines",
    "scipy": "baselines",
    "implicit": "implicit",
    "threadpoolctl": "implicit",
    "lightgbm": "ltr",
}

__all__ = [*_HOME]

if TYPE_CHECKING:
    from topwise.baselines.cosine import TFIDF as TFIDF
    from topwise.baselines.cosine import Cosine as Cosine
    from topwise.baselines.ease import EASE as EASE
    from topwise.baselines.hash_kernel import HashKernel as HashKernel
    from topwise.baselines.implicit_models import BPR as BPR
    from topwise.baselines.implicit_models import IALS as IALS
    from topwise.baselines.linear import ListNet as ListNet
    from topwise.baselines.linear import RankSVM as RankSVM
    from topwise.baselines.lsi import LSI as LSI
    from topwise.baselines.lsi import LSITFIDF as LSITFIDF
    from topwise.baselines.means import NearestMeans as NearestMeans
    from topwise.baselines.mix import Mix as Mix
    from topwise.baselines.mlr import MLR as MLR
    from topwise.baselines.mlr import RMLR as RMLR
    from topwise.baselines.multiclass import MulticlassRankSVM as MulticlassRankSVM
    from topwise.baselines.nmf import NMF as NMF
    from topwise.baselines.one_vs_rest import OneVsRest as OneVsRest
    from topwise.baselines.pair_svm import PairRankSVM as PairRankSVM
    from topwise.baselines.popularity import Popularity as Popularity
    from topwise.baselines.psi import PSI as PSI
    from topwise.baselines.svd import SVD as SVD
    from topwise.baselines.trees import GBRT as GBRT
    from topwise.baselines.trees import LambdaMART as LambdaMART


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'topwise.baselines' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"topwise.baselines.{module}"), name)
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in _EXTRA:
            raise
        raise ImportError(
            f"tw.baselines.{name} needs {library}: pip install 'topwise[{_EXTRA[library]}]'"
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
