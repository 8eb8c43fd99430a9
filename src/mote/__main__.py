"""`python -m mote`."""

import sys

from mote.ui.cli import main

sys.exit(main())
