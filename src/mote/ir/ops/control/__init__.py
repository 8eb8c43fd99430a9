"""Control flow, states that a model keeps, and custom operators of users."""
