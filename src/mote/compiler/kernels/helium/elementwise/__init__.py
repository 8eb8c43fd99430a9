"""Element-wise operators with Helium vectors."""
