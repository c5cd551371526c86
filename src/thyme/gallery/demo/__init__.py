"""An emulated crowd: other people at the same event who post photos, so that one person alone sees the gallery live."""
