"""Histories of real processes: a node per network namespace, a switch between them, faults, and a judge."""
