"""Classical machine learning models for tables in a search: their search space, training and model files."""
