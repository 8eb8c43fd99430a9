"""Classical machine learning: decision trees, nearest neighbours, support vector machines; box detection."""
