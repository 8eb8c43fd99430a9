"""Classical machine learning: decision trees, nearest neighbours, support vectors, box detection."""
