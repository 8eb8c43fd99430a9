"""Preprocessing of samples: named steps and their parameters."""
