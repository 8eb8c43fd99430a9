"""Preprocessing and post-processing steps: from their text to operators before and behind a model."""
