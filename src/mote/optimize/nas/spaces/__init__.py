"""Networks as data, and search spaces of them: layers, blocks of layers, stages and choices."""
