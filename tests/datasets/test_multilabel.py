from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from topwise.datasets import amazon_beauty, mulan_arff, multilabel

SVMLIGHT = "4 3 2\n0,1 2:0.5 0:1\n 1:2\n1:-3.5e-1 2:1\n1\n"
ARFF = """% a comment
@relation example
@attribute 'a word' {0,1}
@ATTRIBUTE b numeric
@attribute l1 {0,1}
@attribute l2 {0,1}

@DATA
{0 1,1 2.5,3 1}
{2 1, 3 1}

{}
{1  0}
"""


def write(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, newline="")
    return path


@pytest.mark.parametrize(
    "content", [SVMLIGHT, SVMLIGHT.replace("\n", "\r\n"), SVMLIGHT.rstrip("\n"), SVMLIGHT + "\n"]
)
def test_multilabel_files(tmp_path: Path, content: str):
    x, y = multilabel(write(tmp_path, "data.txt", content))
    np.testing.assert_array_equal(
        x.to_dense(), np.float32([[1, 0, 0.5], [0, 2, 0], [0, -0.35, 1], [0, 0, 0]])
    )
    np.testing.assert_array_equal(y.to_dense(), [[1, 1], [0, 0], [0, 0], [0, 1]])
    assert y.values is None


def test_compressed_files_are_found_by_their_plain_name(tmp_path: Path):
    (tmp_path / "data.txt.gz").write_bytes(gzip.compress(SVMLIGHT.encode()))
    assert multilabel(tmp_path / "data.txt")[0].shape == (4, 3)
    assert multilabel(tmp_path / "data.txt.gz")[0].shape == (4, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "first line of .* must be 'rows features labels', got ''"),
        ("0,1 2:0.5\n", "must be 'rows features labels', got '0,1 2:0.5'"),
        ("2 3 2\n0 1:1\n", "announces 2 rows in its first line, but has 1"),
        ("1 3 2\n0 3:1\n", "a feature in line 2 of .* must be between 0 and 2, got 3"),
        ("1 3 2\n2 0:1\n", "a label in line 2 of .* must be between 0 and 1, got 2"),
        ("2 3 2\n0 0:1\n0 0:1 x:1\n", "line 3 of .* must have feature:value pairs, got '0:1 x:1'"),
        ("1 3 2\n0 0:1 1\n", "line 2 of .* must have feature:value pairs"),
        ("1 3 2\n0 0:nan\n", "line 2 of .* must have feature:value pairs, got '0:nan'"),
        ("1 3 2\n0 0:1e999\n", "all of them finite numbers"),
        ("1 3 2\nx 0:1\n", "line 2 of .* must have labels such as 3,17, got 'x'"),
        ("1 3 2\n0.5 0:1\n", "a label in line 2 of .* must be between 0 and 1, got 0.5"),
    ],
)
def test_damaged_multilabel_files(tmp_path: Path, content: str, message: str):
    with pytest.raises(ValueError, match=message):
        multilabel(write(tmp_path, "data.txt", content))


def test_sparse_arff(tmp_path: Path):
    x, y = mulan_arff(write(tmp_path, "data.arff", ARFF), labels=2)
    np.testing.assert_array_equal(x.to_dense(), [[1, 2.5], [0, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(y.to_dense(), [[0, 1], [1, 1], [0, 0], [0, 0]])
    assert x.nnz == 2


def test_dense_arff(tmp_path: Path):
    rows = ARFF[ARFF.index("{0 1,1") :]
    dense = ARFF.replace(rows, "1,2.5,0,1\n0, -1e-2, 1, 1\n\n0,0,0,0\n")
    x, y = mulan_arff(write(tmp_path, "data.arff", dense), labels=2)
    np.testing.assert_array_equal(x.to_dense(), np.float32([[1, 2.5], [0, -0.01], [0, 0]]))
    np.testing.assert_array_equal(y.to_dense(), [[0, 1], [1, 1], [0, 0]])


@pytest.mark.parametrize(
    ("content", "labels", "message"),
    [
        (ARFF.replace("@DATA", ""), 2, "has no line @data"),
        (ARFF, 4, "labels must be between 1 and 3, the attributes less one, got 4"),
        (ARFF, 0, "labels must be between 1 and 3"),
        (
            ARFF.replace("{}", "1,0,0"),
            2,
            "line 12 of .* must be a sparse row such as {3 1,7 1} or have 4 values .*, got '1,0,0'",
        ),
        (ARFF.replace("{}", "{4 1}"), 2, "a feature in line 12 of .* must be between 0 and 3, got 4"),
        (ARFF.replace("{}", "1,x,0,0"), 2, "line 12 of .* must have feature:value pairs"),
        (ARFF.replace("{}", "{1 x}"), 2, "line 12 of .* must have feature:value pairs"),
    ],
)
def test_damaged_arff(tmp_path: Path, content: str, labels: int, message: str):
    with pytest.raises(ValueError, match=message):
        mulan_arff(write(tmp_path, "data.arff", content), labels=labels)


def test_eurlex(data_root: Path):
    x, y = multilabel(data_root / "eurlex-4k" / "eurlex_test.txt")
    assert x.shape == (3_809, 5_000)
    assert y.shape == (3_809, 3_993)
    assert np.count_nonzero(y.lengths() == 0) == 6
    assert np.count_nonzero(np.bincount(y.indices)) == 2_673
    assert x.values is not None
    assert x.values[:2].tolist() == pytest.approx([0.101468, 0.554374])


def test_stackexchange_cooking(data_root: Path):
    x, y = multilabel(data_root / "stackexchange-cooking" / "data.txt")
    assert x.shape == (10_491, 577)
    assert y.shape == (10_491, 400)
    assert np.count_nonzero(y.lengths() == 0) == 134
    assert y.row(0).tolist() == [11, 89, 368]


@pytest.mark.parametrize(
    ("parts", "rows", "features", "labels", "a_row"),
    [
        (["delicious/delicious-train", "delicious/delicious-test"], 16_105, 500, 983, 19.02),
        (["bibtex/bibtex-train", "bibtex/bibtex-test"], 7_395, 1_836, 159, 2.40),
        (["corel5k/Corel5k-train-sparse", "corel5k/Corel5k-test-sparse"], 5_000, 499, 374, 3.52),
        (["cal500/cal500"], 502, 68, 174, 26.04),
    ],
)
def test_mulan_sets(data_root: Path, parts: list[str], rows: int, features: int, labels: int, a_row: float):
    loaded = [mulan_arff(data_root / f"{part}.arff", labels=labels) for part in parts]
    assert {(x.n_cols, y.n_cols) for x, y in loaded} == {(features, labels)}
    assert sum(len(y) for _, y in loaded) == rows
    assert sum(y.nnz for _, y in loaded) / rows == pytest.approx(a_row, abs=0.005)


def test_beauty(data_root: Path):
    log = amazon_beauty(data_root / "amazon-beauty-seq" / "beauty.txt").log
    assert (len(log), log.n("user"), log.n("item")) == (353_962, 40_226, 54_542)
    assert log.ids("item")[:3].tolist() == ["1", "2", "3"]


def test_absent_files_say_where_to_get_them(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no eurlex\.txt .*Extreme Classification Repository"):
        multilabel(tmp_path / "eurlex.txt")
    with pytest.raises(FileNotFoundError, match=r"no delicious\.arff .*mulan\.sourceforge\.net"):
        mulan_arff(tmp_path / "delicious.arff", labels=983)
    with pytest.raises(FileNotFoundError, match=r"no beauty\.txt .*BERT4Rec"):
        amazon_beauty(tmp_path / "beauty.txt")
