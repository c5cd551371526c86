"""Directional random walks (walks paper): an overlay built where walks of publishers and subscribers meet.

graph, kernel, board, costs, hull, dice   one overlay on one unit disc graph, compiled
readings                                  what the paper leaves open, as named options
overlay                                   one overlay laid open, to look at
batch                                     many overlays: the evaluation of §VI
protocol, walker, branches, filters       the same as messages between neighbours: the approach
"""
