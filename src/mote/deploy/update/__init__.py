"""Over-the-air updates of models: C for the device, Python for the host."""
