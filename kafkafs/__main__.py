"""`python -m kafkafs`: the command where its script is not on the PATH, or another Python's stands before it."""

import sys

from kafkafs.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
