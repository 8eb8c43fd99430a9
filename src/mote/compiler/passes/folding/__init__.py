"""Passes that compute at compile time what depends on constants only, and remove what has no effect."""
