"""The C of a model: its header, constants, states, arenas and the program that runs it."""
