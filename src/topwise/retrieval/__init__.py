"""Exact top-k."""

from topwise.retrieval.topk import Retriever, search_blocks

__all__ = ["Retriever", "search_blocks"]
