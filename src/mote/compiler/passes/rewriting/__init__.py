"""Passes that replace operators by others that are computed better, or as another runtime does."""
