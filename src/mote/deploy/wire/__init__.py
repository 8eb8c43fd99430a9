"""Messages over any line that carries bytes both ways, for updates and the agent: C for the device, Python for the
host."""
