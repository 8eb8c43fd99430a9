"""When each row of each tensor is computed."""
