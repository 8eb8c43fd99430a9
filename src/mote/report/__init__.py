"""Reports on plans and fronts, as text and as SVG."""
