"""`mote calibrate-target`: a part's memory timing and cost table, fitted to measurements on a board.

`microbenchmarks` are small programs whose time depends on wait states, lines and prefetch; `measurer` runs them on a
board or on an emulated one, `memory_fit` finds the memory timing that explains the cycles, and `calibrate` writes a
target's file.
"""
