"""What a node writes of what happens, to a file or to whoever watches."""
