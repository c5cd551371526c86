"""The studio: `thyme study new`, `thyme study` and the report as one local web page, for people who write no TOML."""
