"""`mote calibrate-target`: fits a target's memory timing and kernel cost table to measurements on a board.

`microbenchmarks` are small programs whose cycles depend on wait states, cache lines and prefetch; `measurer` runs them
on a board or an emulated one, `memory_fit` finds the memory timing that explains the cycles, and `calibrate` writes the
target file."""
