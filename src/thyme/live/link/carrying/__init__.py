"""How messages travel from peer to peer: gathered, cut to the path, repeated, acknowledged, handed up once."""
