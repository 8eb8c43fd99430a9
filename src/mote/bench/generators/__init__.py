"""External generators: a list of those that there are, and a test suite for their authors."""
