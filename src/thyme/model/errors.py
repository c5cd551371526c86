"""Errors that reach a person.

One family: whoever raises one has already said what was wrong, where, and what to do about it. The command
line prints the message as one line and exits with code 2; nothing else needs to be known about it.
"""


class InputError(ValueError):
    """Invalid input from a person; the message says what is wrong, where, and what was expected."""
