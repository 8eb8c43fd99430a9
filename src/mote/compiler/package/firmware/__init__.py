"""Complete firmware for a part: linker script, start-up code and console around a C project."""
