"""The node's HTTP interface: what programs in other languages, one-shot commands and the gallery's page speak.

`interface` lists all endpoints, from which the OpenAPI document is made as well, and answers them; `server` serves on
the node's own event loop, on a local address (protected by a token, `guard`) or on a Unix socket (protected by its
folder).
"""
