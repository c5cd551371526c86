"""What a device keeps: a `thyme.host.Store` on disk.

`database` is the file of records, `journal` their changes, `files` holds large contents, `writing` applies changes to
them in one thread, `disk` is the store that an approach sees, `room` its limits, and `folders` chooses its folder.
"""
