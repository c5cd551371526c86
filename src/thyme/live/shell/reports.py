"""What a live node tells the person or the program that runs it: one record per event.

As JSON, one object per line with the field `event`; for people, one line of text.
"""

from __future__ import annotations

import msgspec


class Report(msgspec.Struct, frozen=True, tag_field="event", tag=str.lower):
    def line(self) -> str:
        raise NotImplementedError


class Listening(Report, frozen=True):
    node: int
    address: str
    approach: str

    def line(self) -> str:
        return f"node {self.node} ({self.approach}) listens on {self.address}"


class Telling(Report, frozen=True):
    address: str

    def line(self) -> str:
        return f"tells what happens at {self.address}: thyme watch {self.address}"


class Serving(Report, frozen=True):
    control: str
    address: str

    def line(self) -> str:
        return f"programs reach it at {' and '.join(each for each in (self.control, self.address) if each)}"


class Joined(Report, frozen=True):
    neighbours: dict[int, str]

    def line(self) -> str:
        return f"joined; {neighbours_text(self.neighbours)}"


class Inserted(Report, frozen=True):
    object: str
    tags: tuple[str, ...]
    size_bytes: int

    def line(self) -> str:
        return f"inserted {self.object} ({self.size_bytes} bytes) under {', '.join(self.tags)}"


class Deleted(Report, frozen=True):
    object: str

    def line(self) -> str:
        return f"deleted {self.object}"


class Subscribed(Report, frozen=True):
    subscription: str
    query: str
    remaining: int

    def line(self) -> str:
        return f"subscribed to {self.query} as {self.subscription}{_more_text(self.remaining)}"


class Unsubscribed(Report, frozen=True):
    subscription: str

    def line(self) -> str:
        return f"unsubscribed from {self.subscription}"


class Notified(Report, frozen=True):
    subscription: str
    object: str
    tags: tuple[str, ...]
    summary: str
    size_bytes: int
    delay_s: float

    def line(self) -> str:
        about = f' "{self.summary}"' if self.summary else ""
        return f"* {self.object}{about} ({self.size_bytes} bytes; {', '.join(self.tags)}) for {self.subscription}"


class Retrieving(Report, frozen=True):
    object: str
    have_bytes: int
    size_bytes: int

    def line(self) -> str:
        return f"retrieving {self.object}: {self.have_bytes:,} of {self.size_bytes:,} bytes"


class Retrieved(Report, frozen=True):
    object: str
    size_bytes: int
    text: str | None = None
    """The content, if it is text and was not written to a file."""
    file: str = ""

    def line(self) -> str:
        if self.file:
            return f"retrieved {self.object}: {self.size_bytes} bytes, written to {self.file}"
        shown = self.text if self.text is not None else "not text; add --to FILE to keep it"
        return f"retrieved {self.object} ({self.size_bytes} bytes): {shown}"


class More(Report, frozen=True):
    subscription: str
    remaining: int

    def line(self) -> str:
        return f"asked for more of {self.subscription}{_more_text(self.remaining)}"


class Listed(Report, frozen=True):
    objects: tuple[str, ...]
    subscriptions: dict[str, str]
    neighbours: dict[int, str]

    def line(self) -> str:
        lines = [neighbours_text(self.neighbours)]
        lines += [f"subscription {key}: {query}" for key, query in self.subscriptions.items()]
        return "\n".join([*lines, *(f"object {key}" for key in self.objects)])


class Helped(Report, frozen=True):
    text: str

    def line(self) -> str:
        return self.text


class Failed(Report, frozen=True):
    command: str
    message: str

    def line(self) -> str:
        return f"error: {self.message}"


class Left(Report, frozen=True):
    node: int

    def line(self) -> str:
        return f"node {self.node} left"


def neighbours_text(neighbours: dict[int, str]) -> str:
    if not neighbours:
        return "no neighbours yet"
    return "neighbours: " + ", ".join(f"{node} at {address}" for node, address in neighbours.items())


def _more_text(remaining: int) -> str:
    return f"; {remaining} older matches wait, ask for `more`" if remaining else ""
