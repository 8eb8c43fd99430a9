"""int8 functions as lookup tables: an external generator for Mote."""

from mote_lookup.generator import LookupTables

__all__ = ["LookupTables"]
