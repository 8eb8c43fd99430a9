"""The instructions of a program in C: a case for each, in modules by what is printed."""
