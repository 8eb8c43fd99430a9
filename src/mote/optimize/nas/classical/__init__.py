"""Classical models for tables as members of a search: spaces of them, their training, and their files."""
