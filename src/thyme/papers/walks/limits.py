"""The paper's radius and the named maxima of the walk batches."""

RADIUS = 0.05
"""Range of communication in the unit square (walks paper §VI)."""

MAX_SEED = 2**32 - 1
MAX_NODES = 100_000
MAX_GRAPH_DRAWS = 10_000
"""Placements to try for one connected network; at 1,000 nodes about one in ten is connected."""

MAX_NETWORKS = 1_000_000
MAX_DRAWS = 1_000_000
MAX_BRANCHES = 2
