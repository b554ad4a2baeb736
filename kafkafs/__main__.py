"""`python -m kafkafs`: the command, if its script is not on the PATH, or if another Python's script comes first."""

import sys

from kafkafs.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
