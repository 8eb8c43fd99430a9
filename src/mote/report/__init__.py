"""Plans and fronts for people: what lies where and when, as text and as SVG."""
