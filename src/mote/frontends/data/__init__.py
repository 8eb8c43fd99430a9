"""User data: files and arrays of samples, labelled or not, and their conversion to inputs of a model."""
