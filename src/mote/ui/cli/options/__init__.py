"""Options that several commands have, each file with what its options need: commands import those alone."""
