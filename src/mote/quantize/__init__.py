"""From real numbers to integers: graphs that are quantized, with the data that says how, and what is lost by it."""
