"""Options of a compilation: what a row of their table says, and how their values are written."""
