"""Energy that was measured: captures of meters, the energy of each layer by marks, and a model fitted to it.

`meters` reads captures, `alignment` finds the steps of inferences by their marks, `layers` adds up the energy of each
layer, and `fit` fits the energy model of a target to that.
"""
