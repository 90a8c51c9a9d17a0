"""Public datasets: one that ships with the package, readers for local copies of others, and a generator."""

from __future__ import annotations

from topwise.datasets.amazon import amazon_beauty
from topwise.datasets.base import Dataset
from topwise.datasets.citeulike import citeulike, citeulike_citations
from topwise.datasets.foursquare import foursquare_nyc
from topwise.datasets.generated import lastfm_like
from topwise.datasets.generated_judgments import judgments_like
from topwise.datasets.lastfm import lastfm_1k, lastfm_hetrec, lastfm_hetrec_tags
from topwise.datasets.letor import Fold, letor_folds
from topwise.datasets.movielens import movielens_1m, movielens_100k, movielens_small
from topwise.datasets.multilabel import mulan_arff, multilabel
from topwise.datasets.wikispeedia import wikispeedia_links

__all__ = [
    "Dataset",
    "Fold",
    "amazon_beauty",
    "citeulike",
    "citeulike_citations",
    "foursquare_nyc",
    "judgments_like",
    "lastfm_1k",
    "lastfm_hetrec",
    "lastfm_hetrec_tags",
    "lastfm_like",
    "letor_folds",
    "movielens_1m",
    "movielens_100k",
    "movielens_small",
    "mulan_arff",
    "multilabel",
    "wikispeedia_links",
]
