"""Trust: who a node is, what it vouches for, and whose frames it believes (docs/security.md)."""
