"""Plan -> a C project that builds on its own: `project.py`."""
