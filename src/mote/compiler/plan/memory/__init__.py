"""Where every byte lies, and how small an arena can be at all."""
