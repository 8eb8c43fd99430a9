"""The gain of training on the device, judged by the device's operators on the host."""
