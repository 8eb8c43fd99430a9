"""Plans, frontiers and accuracy drawn as text and as SVG."""
