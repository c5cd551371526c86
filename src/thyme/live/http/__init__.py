"""The node's HTTP interface: what programs in other languages, one-shot commands and the gallery's page speak.

`table` lists all endpoints, from which the routes and the OpenAPI document are made, and `interface` answers them;
`server` serves on the node's own event loop, on a local address (guarded by a token, `guard`) or on a Unix socket
(guarded by its folder).
"""
