"""The graph of training: loss, gradients and updates of weights behind the model's operators."""
