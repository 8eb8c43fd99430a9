"""Passes that compute at compile time what is known, and remove what has no effect."""
