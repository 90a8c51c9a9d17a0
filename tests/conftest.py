"""What all tests share: where real data is, and settings that make property tests repeat themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with local copies of public datasets, one folder each; the test is skipped without it."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    root = Path(os.environ.get("TOPWISE_DATA", beside))
    if not root.is_dir():
        pytest.skip(f"no datasets in {root}: set TOPWISE_DATA to the folder that has them")
    return root
