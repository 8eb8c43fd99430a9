"""Passes of `mote shrink`: remove what cannot affect the outputs."""
