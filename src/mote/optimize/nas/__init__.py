"""Hardware-aware neural architecture search: search spaces, costs from the compiler's own plan, training, and the
Pareto front of accuracy, RAM, flash and cycles."""
