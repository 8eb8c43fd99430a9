"""What every wing may use: errors for users, atomic files, limited readers, progress, untrusted text."""
