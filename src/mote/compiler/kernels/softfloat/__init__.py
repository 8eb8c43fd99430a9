"""C of cores without a floating-point unit: functions of float32 in integers. All kernels are the portable ones."""
