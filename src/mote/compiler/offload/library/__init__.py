"""Backends that are C libraries: each function computes one operator, from the user's copy of the sources."""
