"""The compiler: from a graph to a plan, from a plan to C, images and packages."""
