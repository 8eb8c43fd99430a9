"""What a model takes on a core: exact instructions on an emulator, RAM, flash, stack, and a profile of cycles."""
