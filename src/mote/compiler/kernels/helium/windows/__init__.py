"""Pools and resizing with Helium vectors."""
