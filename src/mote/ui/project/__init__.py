"""Projects: the models of a firmware in one file, `mote.toml`, built and held to their limits together."""
