"""Boards with an agent, real or emulated: addresses, sessions, and running models."""
