"""External code generators (backends): list of those available, and a test suite for their authors."""
