"""Programs that call a generated model: the example, the self-test, the measuring harness."""
