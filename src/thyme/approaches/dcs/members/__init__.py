"""Who belongs to a cell: joining, leaving, keeping each other alike, and cells that empty and fill."""
