"""Judged queries: the papers' own sets in their published formats, and LETOR 4.0 in their place."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from topwise.papers.protocols import Judge
from topwise.papers.study import Source, Task, Values

FOLDS = 5
QUICK_QUERIES = 40


def _task(parts: list[Any], seed: int, quick: bool) -> Task:
    if quick:
        parts = [part.take(np.arange(min(QUICK_QUERIES, part.n_queries))) for part in parts]
    train, validation, test = parts
    return Task(train, validation, test, seed=seed, quick=quick)


def _fold(folder: Path, seed: int, quick: bool) -> Task:
    """Seed s has the published fold s + 1."""
    from topwise.datasets.letor import letor_folds

    place = seed % FOLDS
    fold = next(islice(letor_folds(folder, place + 1), place, None))
    return _task([fold.train, fold.validation, fold.test], seed, quick)


def _yahoo(number: int) -> Callable[[Path, int, bool], Task]:
    def load(folder: Path, seed: int, quick: bool) -> Task:
        from topwise.data import Judgments
        from topwise.data.joining import aligned
        from topwise.datasets.base import find_file

        origin = "webscope.sandbox.yahoo.com (C14, Learning to Rank Challenge)"
        names = [f"set{number}.{part}.txt" for part in ("train", "valid", "test")]
        paths = [find_file(folder, name, origin) for name in names]
        return _task(aligned(*map(Judgments.read_svmlight, paths)), seed, quick)

    return load


def yahoo(number: int) -> Source:
    """One of the two sets of Yahoo's Learning to Rank Challenge: set1.train.txt and so on, in one folder."""
    name = f"Yahoo! Set {'I' * number}"
    return Source(name, _yahoo(number), name, ("yahoo-ltr", "ltrc_yahoo", "Learning to Rank Challenge"), True)


def mslr(name: str) -> Source:
    """MSLR-WEB10K or MSLR-WEB30K, as published: Fold1 … Fold5 with train.txt, vali.txt, test.txt."""
    return Source(name, _fold, name, (name.lower(),), True)


def letor(stands_for: str = "") -> Source:
    """784 queries with 15,211 judged documents."""
    return Source("letor4-mq2008", _fold, stands_for)


ORIGINALS = (yahoo(1), yahoo(2), mslr("MSLR-WEB10K"), mslr("MSLR-WEB30K"))


def graded(*metrics: str, convention: str = "mslr") -> Judge:
    """Graded measures of judged queries, and the time of scoring a document."""

    def judge(model: Any, task: Task, part: Any) -> Values:
        from topwise import evaluation

        measure: Any = evaluation.evaluate
        started = time.perf_counter()
        model.score(part)
        seconds = time.perf_counter() - started
        report = measure(model, part, list(metrics), convention=convention)
        return {**{name: report[name] for name in report}, "microseconds": 1e6 * seconds / len(part.labels)}

    return judge


def described(model: Any, task: Task, part: Any) -> Values:
    """How many queries, documents, levels and features there are, in all parts."""
    parts = [one for one in (task.train, task.validation, task.test) if one is not None]
    return {
        "queries": float(sum(one.n_queries for one in parts)),
        "documents": float(sum(len(one.labels) for one in parts)),
        "levels": float(len(np.unique(np.concatenate([one.labels for one in parts])))),
        "features": float(parts[0].n_features),
    }
