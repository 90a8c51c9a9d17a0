"""Files that are whole or not there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from topwise.cli.files import replacing


def test_a_file_appears_when_it_is_done(tmp_path: Path) -> None:
    wanted = tmp_path / "out.csv"
    with replacing(wanted) as beside:
        beside.write_text("new")
        assert not wanted.exists()
    assert wanted.read_text() == "new"
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(wanted.stat().st_mode) == 0o666 & ~umask


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    wanted = tmp_path / "out.csv"
    wanted.write_text("old")

    def break_off() -> None:
        with replacing(wanted) as beside:
            beside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert wanted.read_text() == "old"
    assert list(tmp_path.iterdir()) == [wanted]
