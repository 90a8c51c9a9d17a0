"""Ray on the loopback alone, and quiet."""

import os

# Ray's own switch, for machines that are asked before a program may listen: no address but 127.0.0.1.
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
