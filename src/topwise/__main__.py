"""`python -m topwise` is the command `topwise`."""

import sys

from topwise.cli import main

if __name__ == "__main__":
    sys.exit(main())
