"""Products of a matrix and a vector: FULLY_CONNECTED and recurrent layers."""
