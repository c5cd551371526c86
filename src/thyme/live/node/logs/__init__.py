"""The log of a node's events, to a file or to connected watchers."""
