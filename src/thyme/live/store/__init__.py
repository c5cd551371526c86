"""What a device keeps: a `thyme.host.Store` on disk.

`database` is the file of records, `files` holds large contents, `writing` brings changes to both in one thread, `disk`
is the store that an approach sees, and `places` says where it lies.
"""
