"""What users have: files and arrays of samples, with labels and without, and how they become inputs of a model."""
