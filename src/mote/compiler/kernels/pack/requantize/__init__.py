"""Constants of requantization: sums to int8, exactly as the reference rounds."""
