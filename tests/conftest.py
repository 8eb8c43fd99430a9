"""Property tests try the same examples every time, so that a red test is a change's fault; `make fuzz` tries others."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("fuzz", derandomize=False, print_blob=True)
settings.load_profile("fuzz" if os.environ.get("MOTE_FUZZ") else "repeatable")
