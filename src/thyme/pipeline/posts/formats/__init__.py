"""Formats in which people have posts; each module reads one family of them into `ParsedPost`."""
