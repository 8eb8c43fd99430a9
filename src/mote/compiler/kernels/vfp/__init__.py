"""float32 kernels for cores with an FPU: assembly for that of Arm and for vectors of Helium, plain C for others."""
