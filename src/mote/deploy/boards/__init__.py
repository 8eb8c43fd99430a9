"""Boards with an agent, real or emulated: addresses, sessions, and models that run there."""
