"""From a plan to a C project that builds on its own: `project.py`."""
