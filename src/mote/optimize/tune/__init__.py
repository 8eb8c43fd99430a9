"""Auto-tuning by measurement: kernel variants, memory placement and compiler flags, chosen by measured cycles."""
