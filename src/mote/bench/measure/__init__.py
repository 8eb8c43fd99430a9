"""Measurements on a core: exact instructions on an emulator, RAM, flash, stack, and cycle profiles."""
