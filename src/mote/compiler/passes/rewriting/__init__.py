"""Passes that replace operators by others, which are faster or reproduce another runtime."""
