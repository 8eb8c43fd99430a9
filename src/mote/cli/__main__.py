"""`python -m mote.cli`."""

import sys

from mote.cli import main

sys.exit(main())
