"""Back ends: C projects and images."""
