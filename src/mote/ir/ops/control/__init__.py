"""Control flow, states of a model, custom operators of users."""
