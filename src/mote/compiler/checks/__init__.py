"""What a compiled model is held to: budgets, which are errors, and advice about what is legal."""
