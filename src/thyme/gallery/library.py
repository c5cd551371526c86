"""The library: what this device knows of the photos of one gallery, and their files.

One SQLite file and a folder. Writes are small and few, and are not waited for by the disk (the photos that matter to
others are in the node's own store); the library is closed with everything in it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from secrets import token_hex

import msgspec

from thyme.gallery.photos import HERE, Photo, PhotoState
from thyme.model.errors import InputError

VERSION = 1
ID_BYTES = 8
_ROOM_FROM = (PhotoState.DISMISSED, PhotoState.LATER, PhotoState.NEW, PhotoState.FAILED)
"""What makes room for newer photos, in this order."""


class Library:
    def __init__(self, folder: Path, maximum: int) -> None:
        self._maximum = maximum
        self._files = folder / "files"
        self._files.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(folder / "library.sqlite3", isolation_level=None)
        self._database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;")
        if self._database.execute("PRAGMA user_version").fetchone()[0] > VERSION:
            raise InputError(f"the library in {folder} was written by a newer version of Thyme; update Thyme")
        self._database.executescript(
            "CREATE TABLE IF NOT EXISTS photos (id TEXT PRIMARY KEY, photo BLOB NOT NULL);"
            "CREATE TABLE IF NOT EXISTS words (name TEXT PRIMARY KEY, value TEXT NOT NULL);"
            f"PRAGMA user_version={VERSION};"
        )
        self._photos: dict[str, Photo] = {}
        self._by_key: dict[str, str] = {}
        for (blob,) in self._database.execute("SELECT photo FROM photos ORDER BY rowid").fetchall():
            photo = msgspec.msgpack.decode(blob, type=Photo)
            self._photos[photo.id] = photo
            if photo.key:
                self._by_key[photo.key] = photo.id

    def close(self) -> None:
        self._database.close()

    def new_id(self) -> str:
        return token_hex(ID_BYTES)

    def photos(self) -> list[Photo]:
        return list(self._photos.values())

    def get(self, name: str) -> Photo | None:
        return self._photos.get(name)

    def of_key(self, key: str) -> Photo | None:
        return self._photos.get(self._by_key.get(key, ""))

    def put(self, photo: Photo) -> list[Photo]:
        """Remember a photo, new or changed; those that made room for it."""
        self._photos[photo.id] = photo
        if photo.key:
            self._by_key[photo.key] = photo.id
        blob = msgspec.msgpack.encode(photo)
        self._database.execute(
            "INSERT INTO photos VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET photo = excluded.photo", (photo.id, blob)
        )
        gone = self._over()
        for each in gone:
            self.remove(each.id)
        return gone

    def remove(self, name: str) -> None:
        photo = self._photos.pop(name, None)
        if photo is not None:
            self._by_key.pop(photo.key, None)
            self._database.execute("DELETE FROM photos WHERE id = ?", (name,))
        for file in (self.original(name), self.thumb(name), self.view(name)):
            file.unlink(missing_ok=True)

    def original(self, name: str) -> Path:
        return self._files / f"{name}.original"

    def thumb(self, name: str) -> Path:
        return self._files / f"{name}.thumb.webp"

    def view(self, name: str) -> Path:
        return self._files / f"{name}.view.webp"

    def word(self, name: str, default: str = "") -> str:
        """A small value to remember, such as the user's name."""
        row = self._database.execute("SELECT value FROM words WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else default

    def set_word(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO words VALUES (?, ?)", (name, value))

    def size_bytes(self) -> int:
        return sum(photo.size_bytes for photo in self._photos.values() if photo.state in HERE)

    def _over(self) -> list[Photo]:
        over = len(self._photos) - self._maximum
        if over <= 0:
            return []
        spare = [photo for photo in self._photos.values() if photo.state in _ROOM_FROM]
        return sorted(spare, key=lambda photo: (_ROOM_FROM.index(photo.state), photo.at_s))[:over]
