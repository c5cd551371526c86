"""How nodes get to know each other: found, greeted, told of by others, and noticed when they go."""
