"""Trust: a node's identity, the statements it signs, and the frames it accepts (docs/explanation/security.md)."""
