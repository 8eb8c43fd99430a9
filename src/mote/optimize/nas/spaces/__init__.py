"""Networks as data, and spaces of them: layers, blocks of layers, choices."""
