"""Running and measuring: execution on the host, emulators and boards; instructions, cycles, memory, accuracy."""
