"""Communication with a board's agent: requests, device regions, inferences."""
