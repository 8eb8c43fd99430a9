"""`python -m mote`."""

import sys

from mote.cli import main

sys.exit(main())
