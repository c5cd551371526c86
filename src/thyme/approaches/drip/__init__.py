"""DRIP: publish/subscribe over dynamic Voronoi regions around the most able nodes (Yuan and Wu)."""
