"""Training of int8 layers in integers, so that every machine learns the same bits.

The gradient of a loss is normalized: the largest of its elements is 127, whatever the sample. Gradients of all tensors
are int8 numbers with scales that are known at compile time, and one number holds what was divided by, times the
learning rate: the size of the step, (mantissa, shift) as int32 [2], which stands for mantissa / 2^31 * 2^shift. Steps
of weights are rounded stochastically, by a hash of the number of the step and the element.
"""
