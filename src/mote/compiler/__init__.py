"""The line from a model to C: settings, and one function for each arrow."""
