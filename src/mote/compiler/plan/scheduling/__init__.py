"""Scheduling: what runs whole, what row by row, and in which order."""
