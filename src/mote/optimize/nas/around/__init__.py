"""Search around a user's float model: fewer channels and blocks, smaller kernels, other precisions, sparse weights
(`mote search --from`)."""
