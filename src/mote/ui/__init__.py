"""What users meet: the `mote` command, the Python functions behind it, project files, the report."""
