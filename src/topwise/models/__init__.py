"""The embedding models, one file each."""

from topwise.models.base import Embedding
from topwise.models.feature_ranker import FeatureRanker
from topwise.models.files import ModelFileError, load
from topwise.models.gmml import GMML
from topwise.models.item_bag import ItemBag
from topwise.models.lasr import LaSR, StaleListsError
from topwise.models.lcr import LCR
from topwise.models.lgmml import LGMML
from topwise.models.matrix_factorization import MatrixFactorization
from topwise.models.max_mf import MaxMF
from topwise.models.serving import NotFittedError
from topwise.models.wsabie import Wsabie

__all__ = [
    "GMML",
    "LCR",
    "LGMML",
    "Embedding",
    "FeatureRanker",
    "ItemBag",
    "LaSR",
    "MatrixFactorization",
    "MaxMF",
    "ModelFileError",
    "NotFittedError",
    "StaleListsError",
    "Wsabie",
    "load",
]
