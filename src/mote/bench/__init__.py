"""Runs and measures models: execution on the host, emulators and boards; instructions, cycles, memory, accuracy."""
