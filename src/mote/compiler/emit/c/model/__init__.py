"""The model's own C: its header, constants, states, arenas and the program that runs it."""
