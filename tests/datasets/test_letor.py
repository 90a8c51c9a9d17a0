"""Folds of LETOR and MSLR, from either form of their folders."""

from __future__ import annotations

from pathlib import Path

import pytest

import topwise as tw


def test_rotated_parts(tmp_path: Path) -> None:
    for part in range(1, 6):
        (tmp_path / f"S{part}.txt").write_text(f"1 qid:{part} 1:{part}\n0 qid:{part} {part}:1\n")
    folds = list(tw.datasets.letor_folds(tmp_path))
    assert [(f.train.qids.tolist(), f.validation.qids.tolist(), f.test.qids.tolist()) for f in folds] == [
        ([1, 2, 3], [4], [5]),
        ([2, 3, 4], [5], [1]),
        ([3, 4, 5], [1], [2]),
        ([4, 5, 1], [2], [3]),
        ([5, 1, 2], [3], [4]),
    ]
    assert {f.train.n_features for f in folds} == {5} == {f.test.n_features for f in folds}


def test_published_folders(tmp_path: Path) -> None:
    for name, qid in (("train", 1), ("vali", 2), ("test", 3)):
        folder = tmp_path / "Fold1"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.txt").write_text(f"1 qid:{qid} 1:1 {qid + 3}:1\n")
    (fold,) = tw.datasets.letor_folds(tmp_path, folds=1)
    assert (fold.train.qids[0], fold.validation.qids[0], fold.test.qids[0]) == (1, 2, 3)
    assert fold.train.n_features == 6
    with pytest.raises(FileNotFoundError, match=r"there is no train.txt"):
        list(tw.datasets.letor_folds(tmp_path, folds=2))


def test_missing_parts_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no S1.txt"):
        next(tw.datasets.letor_folds(tmp_path))
    with pytest.raises(ValueError, match="folds must be between 1 and 5, got 6"):
        tw.datasets.letor_folds(tmp_path, folds=6)


def test_mq2008(data_root: Path) -> None:
    folds = list(tw.datasets.letor_folds(data_root / "letor4-mq2008"))
    assert sum(len(fold.test) for fold in folds) == 15_211
    assert sum(fold.test.n_queries for fold in folds) == 784
    assert {fold.train.n_features for fold in folds} == {46}
