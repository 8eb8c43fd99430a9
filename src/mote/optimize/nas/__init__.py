"""Neural architecture search whose costs are the compiler's own: spaces of networks, what they cost on a target, their
training, and the front of the best."""
