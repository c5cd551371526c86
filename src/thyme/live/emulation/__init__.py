"""A crowd of real processes on one machine, in an emulated area: positions decide which nodes are in range."""
