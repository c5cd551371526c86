"""Settings: one way from what a person writes (TOML, `--set KEY=VALUE`) to checked records, and from records to words.

`reading` has files and keys, `checking` turns tables into records and faults into one-line errors, `describing` says
what keys a record has, and `writing` makes templates and reference pages of that. A setting with several models is a
union of records that are tagged by `model`: a new model is one more class in the union.
"""

from thyme.model.settings.checking import SettingsRecord, changed, check_bounds, model_of, set_key, set_keys, to_record
from thyme.model.settings.describing import Key, Model, Section, keys_of, sections_of
from thyme.model.settings.reading import SettingsSource, parse_setting, parse_settings, read_toml

__all__ = [
    "Key",
    "Model",
    "Section",
    "SettingsRecord",
    "SettingsSource",
    "changed",
    "check_bounds",
    "keys_of",
    "model_of",
    "parse_setting",
    "parse_settings",
    "read_toml",
    "sections_of",
    "set_key",
    "set_keys",
    "to_record",
]
