"""The command line as a module: ``python -m bestarm``."""

import sys

from bestarm.command_line import main

if __name__ == "__main__":
    sys.exit(main())
