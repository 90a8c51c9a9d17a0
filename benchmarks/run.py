"""Everything that `make bench` measures, one after the other; then all bars, and README.md.

python benchmarks/run.py           all of it (an hour or two: the peers are slow)
python benchmarks/run.py --quick   a small cut of each, to see that it runs
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import report
from common import RESULTS, arguments, table

ORDER = (
    *("topk", "kernel", "threads", "evaluation", "time_to_quality", "large", "quality"),
    *("context_models", "positions", "tastes", "lists", "judgments", "ltr", "local_metrics"),
    *("noise_features", "music", "two_stage", "baselines"),
)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--only", nargs="+", choices=ORDER, default=ORDER)
    asked = parser.parse_args()
    failed = []
    for name in asked.only:
        print(f"\n== {name}", flush=True)
        command = [sys.executable, str(Path(__file__).with_name(f"{name}.py"))]
        command += ["--quick"] if asked.quick else []
        if name != "topk":
            command += ["--data", str(asked.data), "--threads", str(asked.threads)]
        if subprocess.run(command, check=False).returncode != 0:
            failed.append(name)
    bars = []
    for path in sorted(RESULTS.glob("*.json")):
        content = json.loads(path.read_text())
        bars += [
            (path.stem, b["bar"], b["measured"], b["wanted"], "met" if b["met"] else "MISSED")
            for b in content.get("bars", [])
        ]
    if bars:
        print(
            "\n== all bars, from the last whole run of each\n"
            + table(("benchmark", "bar", "measured", "wanted", ""), bars)
        )
    if not asked.quick:
        report.main()
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
