"""How right a compiled model is: verification against the reference, accuracy on labelled data, noise layer by
layer."""
