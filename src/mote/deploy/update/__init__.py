"""Models updated over the air: the device's side in C, and the host's side of it."""
