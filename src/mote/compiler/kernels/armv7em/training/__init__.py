"""Steps and gradients of layers that learn."""
