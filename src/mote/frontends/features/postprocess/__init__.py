"""Post-processing: from the text of steps to operators behind a model."""
