"""The walks paper's evaluation (§VI), on networks compiled for it.

graph, kernel, board, costs, hull, dice   one overlay on one unit disc graph, compiled
readings                                  what the paper leaves open, as named options
overlay                                   one overlay laid open, to look at
batch, sweep                              many overlays: the evaluation
points, claims, figures                   what the paper shows and states
"""
