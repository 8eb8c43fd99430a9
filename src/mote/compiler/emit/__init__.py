"""Back ends: generated C projects, and images for the runtime."""
