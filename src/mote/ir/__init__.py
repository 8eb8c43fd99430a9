"""What a network is: graphs of operators, and what operators compute."""
