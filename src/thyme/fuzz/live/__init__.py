"""Whole live nodes in one process: a virtual clock, a simulated network, faults, and a judge."""
