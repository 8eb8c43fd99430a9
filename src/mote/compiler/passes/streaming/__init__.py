"""Passes for models that process a stream piece by piece."""
