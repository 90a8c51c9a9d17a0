from __future__ import annotations

import subprocess
import sys


def test_the_data_layer_is_light_until_it_reads_something():
    program = "import sys, topwise.data, topwise.datasets; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert "topwise.data.events" in loaded.split()
    assert {"polars", "pandas", "pyarrow", "scipy", "topwise._core"}.isdisjoint(loaded.split())
