"""A crowd of real processes on one machine, in an emulated area: who hears whom follows from where they stand."""
