"""Labelled examples in the published format."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_examples(path: Path, rows: int = 240, seed: int = 0) -> None:
    """Examples whose labels follow from which of their features are set."""
    rng = np.random.default_rng(seed)
    lines = [f"{rows} 30 12"]
    for _ in range(rows):
        topic = int(rng.integers(0, 6))
        labels = sorted({2 * topic, 2 * topic + int(rng.integers(0, 2))})
        words = sorted(set(rng.choice(5, 3, replace=False) + 5 * topic) | set(rng.choice(30, 2).tolist()))
        lines.append(",".join(map(str, labels)) + " " + " ".join(f"{word}:1" for word in words))
    path.write_text("\n".join(lines) + "\n")
