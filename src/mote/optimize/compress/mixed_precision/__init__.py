"""Mixed precision: the search for the layers that can be quantized further within a limit of accuracy."""
