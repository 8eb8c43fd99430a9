"""The compiler from a model to C: settings, and one function per stage."""
