"""The subcommands of `mote`, one file for each."""
