"""Mixed precision: searches which layers can have fewer bits within an allowed accuracy drop."""
