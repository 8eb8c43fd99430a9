"""RAM, flash and cycles of candidate networks on a target, from the compiler's plan."""
