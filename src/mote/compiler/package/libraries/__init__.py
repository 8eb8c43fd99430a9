"""Packagers for ecosystems whose libraries are a folder of sources with a manifest and examples."""
