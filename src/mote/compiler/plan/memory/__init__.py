"""Memory planning: arena allocation, lower bounds of the peak, several memories."""
