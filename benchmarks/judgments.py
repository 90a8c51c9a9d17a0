"""Reading judgments: topwise beside scikit-learn's load_svmlight_file, on the same file.

The file has MSLR's shape, 136 features with six digits. Both read it from the system's cache, in turn.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, bar, best_seconds, save, table

import topwise as tw

WANTED = 5
FEATURES = 136
ROWS_OF_QUERY = 120


def write(path: Path, rows: int) -> None:
    """Judgments of MSLR's size and digits."""
    rng = np.random.default_rng(0)
    features = np.round(rng.random((rows, FEATURES)) * 10.0 ** rng.integers(-2, 4, FEATURES), 6)
    tw.Judgments.from_arrays(features, rng.integers(0, 5, rows), groups=_groups(rows)).write_svmlight(path)


def _groups(rows: int) -> list[int]:
    whole = [ROWS_OF_QUERY] * (rows // ROWS_OF_QUERY)
    return whole + [rows % ROWS_OF_QUERY] * (rows % ROWS_OF_QUERY > 0)


def main() -> None:
    from sklearn.datasets import load_svmlight_file

    asked = arguments(__doc__).parse_args()
    rows = 20_000 if asked.quick else 1_000_000
    repeats = 2 if asked.quick else 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments.txt"
        write(path, rows)
        size = path.stat().st_size
        judged = tw.Judgments.read_svmlight(path, threads=asked.threads)

        def ours(threads: int, sparse: bool) -> float:
            return best_seconds(
                lambda: tw.Judgments.read_svmlight(path, threads=threads, sparse=sparse), repeats
            )

        seconds = {
            f"topwise, {asked.threads} threads": ours(asked.threads, False),
            "topwise, 1 thread": ours(1, False),
            f"topwise, {asked.threads} threads, sparse": ours(asked.threads, True),
            "scikit-learn": best_seconds(
                lambda: load_svmlight_file(str(path), query_id=True, dtype=np.float32), 1
            ),
        }
        theirs, labels, _ = load_svmlight_file(str(path), query_id=True, dtype=np.float32)
        assert np.array_equal(labels, judged.labels)
        assert np.array_equal(theirs[:1000].toarray(), judged.dense()[:1000]), "both read the same numbers"
        written = best_seconds(lambda: judged.write_svmlight(path.with_name("again.txt")), 1)
    their_seconds = seconds["scikit-learn"]
    rows_: list[dict[str, Any]] = [
        {"side": name, "seconds": s, "MB/s": size / 1e6 / s, "scikit-learn's time over it": their_seconds / s}
        for name, s in seconds.items()
    ]
    print(f"{rows:,} rows of {FEATURES} features, {size / 1e6:,.0f} MB; written in {written:.2f} s")
    print(table(list(rows_[0]), [list(row.values()) for row in rows_]))
    best = seconds[f"topwise, {asked.threads} threads"]
    judged_bars = [bar("scikit-learn's time over ours", their_seconds / best, WANTED)]
    if not asked.quick:
        judged_bars.append(bar("seconds for a million rows", best, 10, larger=False))
        save("judgments", rows=rows_, bars=judged_bars)


if __name__ == "__main__":
    main()
