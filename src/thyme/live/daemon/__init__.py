"""A node that several programs of one user share: where its control socket is, how it runs, how to speak to it."""
