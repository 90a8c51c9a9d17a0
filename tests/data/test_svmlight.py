"""Files of SVMlight's form: read as scikit-learn reads them, written back, and refused by line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import topwise as tw
from topwise.data import Csr


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


LETOR = """2 qid:10 1:0.5 2:0 3:1 #docid = GX1 inc = 1
0 qid:10 1:0.25 2:1 3:0 #docid = GX2 inc = 1
1 qid:9 1:0 2:0 3:0.125 #docid = GX3 inc = 1
"""


@pytest.mark.parametrize("name", ["train.txt", "train.txt.gz"])
def test_a_file_of_letor(tmp_path: Path, name: str) -> None:
    judged = tw.Judgments.read_svmlight(write(tmp_path / name, LETOR))
    np.testing.assert_array_equal(judged.dense(), [[0.5, 0, 1], [0.25, 1, 0], [0, 0, 0.125]])
    assert judged.labels.tolist() == [2, 0, 1]
    assert judged.qids.dtype == np.int64
    assert judged.qids.tolist() == [10, 9]
    assert judged.docids is not None
    assert judged.docids.tolist() == ["GX1", "GX2", "GX3"]
    assert judged.comments is not None
    assert judged.comments[0] == "docid = GX1 inc = 1"


def test_ids_stay_as_they_are_written(tmp_path: Path) -> None:
    judged = tw.Judgments.read_svmlight(write(tmp_path / "a", "1 qid:007 1:1\n0 qid:7 1:1\n"))
    assert judged.qids.tolist() == ["007", "7"]


@pytest.mark.parametrize("sparse", [True, False])
def test_reads_what_scikit_learn_reads(tmp_path: Path, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random((400, 30)) < 0.3, rng.normal(size=(400, 30)) * 10.0 ** rng.integers(-9, 9, 30), 0)
    y, query = rng.integers(0, 5, 400), np.sort(rng.integers(0, 40, 400))
    path = tmp_path / "data.txt"
    dump_svmlight_file(x, y, str(path), query_id=query, zero_based=False)
    theirs, labels, qids = load_svmlight_file(str(path), query_id=True, n_features=30)
    judged = tw.Judgments.read_svmlight(path, sparse=sparse, n_features=30)
    assert isinstance(judged.features, Csr) == sparse
    np.testing.assert_array_equal(judged.dense(), theirs.toarray().astype(np.float32))
    np.testing.assert_array_equal(judged.labels, labels)
    np.testing.assert_array_equal(judged.qids[judged.query_of_rows()], qids)


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 4),
            st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        ),
        min_size=1,
        max_size=8,
    ),
    sparse=st.booleans(),
    zero_based=st.booleans(),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, list[float]]],
    sparse: bool,
    zero_based: bool,
) -> None:
    path = tmp_path_factory.mktemp("svm") / "file.txt"
    x = np.array([values for _, values in rows], dtype=np.float32)
    features = Csr.from_dense(x) if sparse else x
    judged = tw.Judgments.from_arrays(
        features, [label for label, _ in rows], [f"q{n // 3}" for n in range(len(rows))]
    )
    judged.write_svmlight(path, zero_based=zero_based)
    again = tw.Judgments.read_svmlight(path, n_features=3, sparse=sparse, zero_based=zero_based)
    np.testing.assert_array_equal(again.dense(), judged.dense())
    np.testing.assert_array_equal(again.labels, judged.labels)
    np.testing.assert_array_equal(again.qids, judged.qids)
    np.testing.assert_array_equal(again.indptr, judged.indptr)


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
def test_comments_and_docids_are_kept(tmp_path: Path, name: str) -> None:
    judged = tw.Judgments.read_svmlight(write(tmp_path / "in.txt", LETOR))
    judged.write_svmlight(tmp_path / name)
    again = tw.Judgments.read_svmlight(tmp_path / name)
    np.testing.assert_array_equal(again.comments, judged.comments)
    plain = tw.Judgments.from_arrays([[1.0]], [1], ["q"], docids=["D7"])
    plain.write_svmlight(tmp_path / "docs.txt")
    assert tw.Judgments.read_svmlight(tmp_path / "docs.txt").docids.tolist() == ["D7"]  # type: ignore[union-attr]


def test_groups_beside_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "rank.train.gz", "0 1:1\n1 2:1\n2 1:3\n")
    with pytest.raises(ValueError, match="the rows have no qid: pass groups="):
        tw.Judgments.read_svmlight(path)
    assert tw.Judgments.read_svmlight(path, groups=[1, 2]).indptr.tolist() == [0, 1, 3]
    write(tmp_path / "rank.train.query", "2\n1\n")
    assert tw.Judgments.read_svmlight(path).indptr.tolist() == [0, 2, 3]
    write(tmp_path / "bad.txt", "2\none\n")
    with pytest.raises(ValueError, match="must be whole numbers, got 'one' in its line 2"):
        tw.Judgments.read_svmlight(path, groups=tmp_path / "bad.txt")
    with_qid = write(tmp_path / "with.txt", LETOR)
    with pytest.raises(ValueError, match="leave groups= out"):
        tw.Judgments.read_svmlight(with_qid, groups=[3])


def test_bad_files_are_named_by_line(tmp_path: Path) -> None:
    for text, message in (
        ("1 qid:1 1:2\n\n1 qid:1 1:x\n", "line 3: the value of feature 1 must be a number, got 'x'"),
        ("1 qid:1 1:2\n-1 qid:1 1:2\n", "line 2: a label must be finite and at least 0, got '-1'"),
        ("1 qid:1 0:2\n", "line 1: features count from 1, got 0: pass zero_based=True"),
        (
            "1 qid:1 1:1\n1 qid:2 1:1\n# c\n1 qid:1 1:1\n",
            "line 4: the rows of a query must follow each other",
        ),
        ("", "there are no rows"),
    ):
        path = write(tmp_path / "bad.txt", text)
        with pytest.raises(ValueError, match=message):
            tw.Judgments.read_svmlight(path)
    with pytest.raises(ValueError, match=r"bad.txt: n_features must be at least 1"):
        tw.Judgments.read_svmlight(write(tmp_path / "bad.txt", "1 qid:1 1:1\n"), n_features=0)
    (tmp_path / "broken.gz").write_bytes(gzip.compress(LETOR.encode())[:-9])
    with pytest.raises(ValueError, match="cannot be read"):
        tw.Judgments.read_svmlight(tmp_path / "broken.gz")
    with pytest.raises(FileNotFoundError):
        tw.Judgments.read_svmlight(tmp_path / "missing.txt")
    judged = tw.Judgments.from_arrays([[1.0]], [1], ["a b"])
    with pytest.raises(ValueError, match="text without spaces or '#', got 'a b'"):
        judged.write_svmlight(tmp_path / "out.txt")


def test_regrouping_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "1 qid:b 1:1 # x\n2 qid:a 1:2 # y\n3 qid:b 1:3 # z\n")
    judged = tw.Judgments.read_svmlight(path, regroup=True)
    assert judged.qids.tolist() == ["b", "a"]
    assert judged.labels.tolist() == [1, 3, 2]
    assert judged.comments is not None
    assert judged.comments.tolist() == ["x", "z", "y"]


def test_large_and_mostly_zeros_becomes_sparse(tmp_path: Path) -> None:
    path = write(tmp_path / "wide.txt", "1 qid:1 1:1 90000000:2\n")
    judged = tw.Judgments.read_svmlight(path)
    assert isinstance(judged.features, Csr)
    assert judged.n_features == 90_000_000
