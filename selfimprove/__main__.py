"""`python -m selfimprove` is `selfimprove`."""

import sys

from selfimprove.cli import main

if __name__ == "__main__":
    sys.exit(main())
