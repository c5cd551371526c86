"""Directional random walks (walks paper): an overlay built where walks of publishers and subscribers meet."""
