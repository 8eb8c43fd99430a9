"""The report of a model: its plan and its measurements as one HTML page."""
