"""The intermediate representation: graphs of operators, and the definitions of the operators."""
