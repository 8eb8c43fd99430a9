"""What hardware can do: cores, targets, compilers and emulators, the command streams of NPUs."""
