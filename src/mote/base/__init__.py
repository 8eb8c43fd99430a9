"""Helpers for all packages: user-facing errors, atomic file writes, size-limited readers, progress callbacks, escaping
of untrusted text."""
