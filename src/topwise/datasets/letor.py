"""Judged queries with features: LETOR 4.0 and MSLR by Microsoft Research, in five folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from topwise.data import Judgments
from topwise.data.joining import aligned, concatenated
from topwise.datasets.base import find_file

_ORIGIN = "microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval or …/project/mslr"
_PARTS = 5
_NAMES = ("train.txt", "vali.txt", "test.txt")


@dataclass(frozen=True)
class Fold:
    """Queries to learn from, to choose settings on, and to measure on."""

    train: Judgments
    validation: Judgments
    test: Judgments

    def __repr__(self) -> str:
        return f"Fold(train={self.train}, validation={self.validation}, test={self.test})"


def letor_folds(root: str | Path, folds: int = _PARTS) -> Iterator[Fold]:
    """The folds of a local folder, one at a time: LETOR 4.0 (MQ2007, MQ2008), MSLR-WEB10K, MSLR-WEB30K.

    The folder has Fold1 … Fold5 with train.txt, vali.txt and test.txt each; or the parts S1.txt … S5.txt, of
    which fold k learns from the parts k, k + 1 and k + 2, validates on k + 3 and tests on k + 4, around the
    circle. Files may end in .gz. `folds` is how many of them to give.
    """
    if not 1 <= folds <= _PARTS:
        raise ValueError(f"folds must be between 1 and {_PARTS}, got {folds}")
    return _published(Path(root), folds) if (Path(root) / "Fold1").is_dir() else _rotated(Path(root), folds)


def _published(root: Path, folds: int) -> Iterator[Fold]:
    for number in range(1, folds + 1):
        paths = [find_file(root / f"Fold{number}", name, _ORIGIN) for name in _NAMES]
        yield Fold(*aligned(*map(Judgments.read_svmlight, paths)))


def _rotated(root: Path, folds: int) -> Iterator[Fold]:
    paths = [find_file(root, f"S{number}.txt", _ORIGIN) for number in range(1, _PARTS + 1)]
    parts = aligned(*map(Judgments.read_svmlight, paths))
    for first in range(folds):
        turned = [parts[(first + step) % _PARTS] for step in range(_PARTS)]
        yield Fold(concatenated(*turned[:3]), turned[3], turned[4])
