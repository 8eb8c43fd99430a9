"""Training graphs: loss, gradients and weight updates, appended to a model's operators."""
