"""Measured energy: meter captures, energy of each layer by marks, and fitted energy models.

`meters` reads captures, `alignment` locates inference steps by marks, `layers` sums up the energy of each layer, and
`fit` fits a target's energy model."""
