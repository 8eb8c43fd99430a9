"""Training of int8 layers in integer arithmetic, bit-exact on every machine.

The gradient of a loss is normalized: its largest element is always 127. Gradients of all tensors are int8 with scales
known at compile time. The divisor of the normalization times the learning rate is the "step size": (mantissa, shift),
int32 [2], with value mantissa / 2^31 * 2^shift. Weight updates are rounded stochastically, with a hash of step number
and element as noise.
"""
