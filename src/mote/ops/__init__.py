"""What operators mean, one file for each family: attributes, shapes, the NumPy reference, the rows they read."""
