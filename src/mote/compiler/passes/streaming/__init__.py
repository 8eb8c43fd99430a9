"""Passes for models that take a stream piece by piece."""
