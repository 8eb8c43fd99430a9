"""The version of Mote, in a file that imports nothing, so that every file can import it."""

__version__ = "0.1.0"
