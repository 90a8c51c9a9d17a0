"""Content as the papers make it: words, histograms and sound, all as `tw.Features`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Where each name lives. They are imported on first use, for each brings a library of its own.
_HOME = {
    "TextSpace": "text",
    "keyword_queries": "text",
    "TermWeights": "weighting",
    "tfidf": "weighting",
    "IntersectionPCA": "images",
    "concatenate": "images",
    "intersection_kernel": "images",
    "SoundWords": "audio",
    "frames": "audio",
}

# The extra that brings each library.
_EXTRA = {"sklearn": "baselines", "scipy": "baselines", "librosa": "audio"}

__all__ = [*_HOME]

if TYPE_CHECKING:
    from topwise.features.audio import SoundWords as SoundWords
    from topwise.features.audio import frames as frames
    from topwise.features.images import IntersectionPCA as IntersectionPCA
    from topwise.features.images import concatenate as concatenate
    from topwise.features.images import intersection_kernel as intersection_kernel
    from topwise.features.text import TextSpace as TextSpace
    from topwise.features.text import keyword_queries as keyword_queries
    from topwise.features.weighting import TermWeights as TermWeights
    from topwise.features.weighting import tfidf as tfidf


def needs(library: str) -> Any:
    """A library of an extra, or an error that names the extra."""
    try:
        return importlib.import_module(library)
    except ModuleNotFoundError as error:
        name = library.partition(".")[0]
        raise ImportError(f"this needs {name}: pip install 'topwise[{_EXTRA[name]}]'") from error


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'topwise.features' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"topwise.features.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
