"""The instructions of a program as C: a case of a switch for each, in modules by kind."""
