"""Matrix-vector products with Helium vectors: FULLY_CONNECTED and convolutions with few pixels."""
