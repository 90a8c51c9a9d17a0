"""Names of labels, from the files that published sets have them in."""

from __future__ import annotations

import gzip
import re
from pathlib import Path


def titles_of(path: Path) -> list[str]:
    """The names of labels by their number: lines of a text file, or the labels of a Mulan XML file."""
    file = path if path.is_file() else path.with_name(path.name + ".gz")
    if not file.is_file():
        return []
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    text = data.decode("utf8", errors="replace")
    if path.suffix == ".xml":
        return [name.replace("TAG_", "") for name in re.findall(r'<label name="([^"]*)"', text)]
    return [line.strip().removeprefix("tag_") for line in text.splitlines() if line.strip()]
