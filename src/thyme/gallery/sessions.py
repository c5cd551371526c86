"""The users of a gallery's page: the host, and guests with sessions of their own.

All of them share the host's node. Each session has its own library (Private, Publications, Downloads, what it was
notified of), its own subscriptions and its own stream of events. So a guest sees nothing private of the host or of
other guests, and deletes only what it published itself. A guest comes with the key of the invitation, chooses a name,
and gets a secret as a cookie; only the secret's hash is kept. Guests are remembered across restarts. What they
published stays in the crowd when they are removed. The key changes then, so the old code does not let them in again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from secrets import token_hex, token_urlsafe

import msgspec
from starlette.datastructures import Headers

from thyme.drafts import write_file
from thyme.gallery.cards import plain
from thyme.gallery.collection import GUEST
from thyme.gallery.library import Library
from thyme.gallery.limits import (
    DELETED_PHOTO,
    EVERY_PHOTO,
    GUEST_NAME_CHARS,
    GUEST_SUBSCRIPTIONS,
    GUEST_UPLOADS_PER_MINUTE,
    GalleryOptions,
)
from thyme.gallery.sharing import Sharing
from thyme.live.failures import RequestError, not_found
from thyme.live.http.events import Events
from thyme.live.http.guard import cookie_text
from thyme.live.http.interface import NodeInterface
from thyme.live.node.notifications import Notice
from thyme.live.views import NewSubscription, SubscriptionView
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError

FILE, FOLDER = "guests.json", "guests"
SUBSCRIBED, WELCOMED = "subscribed", "welcomed"
"""Small things that a library remembers: a guest's subscriptions, and whether all photos were subscribed to once."""
ENTRANCE = "/v1/gallery/enter"
HOST_ONLY = ("place", "status", "galleries", "switch", "guests")
"""Parts of the gallery that guests cannot use."""
SECRET_BYTES, ID_BYTES = 24, 6
MINUTE_S = 60.0


class Guest(msgspec.Struct):
    """The stored record of a guest."""

    id: str
    name: str
    secret_hash: str
    since_s: float


class _Kept(msgspec.Struct):
    key: str
    guests: list[Guest]


class GuestView(msgspec.Struct, frozen=True):
    id: str
    name: str
    since_s: float
    published: int
    size_bytes: int


class ViewerSession:
    """What one person sees of the gallery on this device."""

    def __init__(
        self,
        interface: NodeInterface,
        folder: Path,
        options: GalleryOptions,
        thread: ThreadPoolExecutor,
        guest: Guest | None,
    ) -> None:
        self.guest, self._all, self._options = guest, interface.subscriptions, options
        self.events = interface.events if guest is None else Events(interface.options)
        self.sharing = Sharing(interface.node, Library(folder, options.photos), options, self.events, thread)
        self._uploads_s: deque[float] = deque(maxlen=GUEST_UPLOADS_PER_MINUTE)
        self.sids: set[int] = set()
        if guest is not None:
            here = {view.sid for view in self._all.views()}
            self.sids = here & set(msgspec.json.decode(self.sharing.library.word(SUBSCRIBED, "[]"), type=list[int]))

    def keep_subscriptions(self) -> None:
        self.sharing.library.set_word(SUBSCRIBED, msgspec.json.encode(sorted(self.sids)).decode())

    def check_upload(self, size_bytes: int) -> None:
        """Guests share the host's disk, so what they may add is bounded."""
        if self.guest is None:
            return
        options = self._options
        if self.sharing.library.size_bytes() + size_bytes > options.guest_bytes:
            raise RequestError(413, "full", f"guests can keep {options.guest_bytes} bytes here; delete photos first")
        now_s, uploads = time.monotonic(), self._uploads_s
        if len(uploads) == uploads.maxlen and now_s - uploads[0] < MINUTE_S:
            raise RequestError(429, "rate", f"guests can add {uploads.maxlen} photos a minute; wait a moment")
        uploads.append(now_s)


class Sessions:
    """The host's session and those of the guests, on the gallery that is open."""

    def __init__(self, interface: NodeInterface, base: Path, folder: Path, options: GalleryOptions) -> None:
        """`base` keeps the list of guests of all galleries; `folder` their data in this one."""
        self._interface, self._file, self._folder, self._options = interface, base / FILE, folder, options
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self.host = ViewerSession(interface, folder, options, self._thread, None)
        self.host.sharing.deleted = self.deleted
        kept = _read(self._file)
        self.key = kept.key
        self._guests: dict[str, ViewerSession] = {}
        for guest in kept.guests:
            self._open(guest)
        self._known = {view.sid for view in interface.subscriptions.views()}
        self._unclaimed: dict[int, list[Notice]] = {}
        """Of subscriptions that are being made, for which it is not known yet whose they are."""
        self._adding = 0
        self._deleted: Bounded[str, None] = Bounded(options.deletions)
        self._heard_before = interface.node.on_notice
        interface.node.on_notice = self._heard
        self._keep()

    async def end(self) -> None:
        self._interface.node.on_notice = self._heard_before
        for session in (self.host, *self._guests.values()):
            if session.guest is not None:
                session.events.end()
            await session.sharing.end()
        self._thread.shutdown()

    def admit(self, headers: Headers, method: str, path: str) -> ViewerSession | None:
        """The guest whose cookie came with a request that guests may make; None for the entrance; else an error."""
        if (method, path) == ("POST", ENTRANCE):
            return None
        session = self._of_cookie(headers)
        if session is None:
            raise RequestError(401, "token", "give this node's token, as Authorization: Bearer TOKEN")
        room, _, part = path.removeprefix("/v1/").partition("/")
        if room != "gallery" or part.partition("/")[0] in HOST_ONLY:
            raise RequestError(403, "guest", "only the host of this gallery can do that")
        return session

    def _of_cookie(self, headers: Headers) -> ViewerSession | None:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(_cookie_name(headers))
        except CookieError:
            return None
        if cookie is None:
            return None
        given = _hash(cookie.value)
        found = [one for one in self._guests.values() if one.guest and compare_digest(one.guest.secret_hash, given)]
        return found[0] if found else None

    async def enter(self, headers: Headers, scheme: str, key: str, name: str) -> str:
        """A new guest; the value of Set-Cookie that makes its browser known here."""
        if not compare_digest(key.encode(), self.key.encode()):
            raise RequestError(403, "key", "this invitation is no longer valid; ask the host for a new code")
        called = plain(name, GUEST_NAME_CHARS)
        if not called:
            raise InputError("give your name; others see it with your photos")
        if len(self._guests) >= self._options.guests:
            raise RequestError(503, "full", f"{len(self._guests)} guests are here, which is the limit")
        if called in {session.guest.name for session in self._guests.values() if session.guest}:
            raise RequestError(409, "name", f"another guest is called {called!r}; choose another name")
        secret = token_urlsafe(SECRET_BYTES)
        session = self._open(Guest(token_hex(ID_BYTES), called, _hash(secret), time.time()))
        self._keep()
        await self.subscribe(session, NewSubscription(EVERY_PHOTO))
        return cookie_text(_cookie_name(headers), secret, scheme)

    async def welcome(self, query: str) -> None:
        """Subscribe this device to notes of deletions, and the host to this query, once in this gallery."""
        if all(view.query != DELETED_PHOTO for view in self._interface.subscriptions.views()):
            await self._interface.subscriptions.add(NewSubscription(DELETED_PHOTO, "future"))
        library = self.host.sharing.library
        if query and not library.word(WELCOMED):
            library.set_word(WELCOMED, "yes")
            await self.subscribe(self.host, NewSubscription(query))

    def views(self) -> list[GuestView]:
        return [
            GuestView(
                one.id, one.name, one.since_s, len(session.sharing.published()), session.sharing.library.size_bytes()
            )
            for session in self._guests.values()
            if (one := session.guest) is not None
        ]

    async def remove(self, guest_id: str) -> None:
        """End a guest's session and forget what only the guest saw; its publications stay. The invitation changes."""
        session = self._guests.pop(guest_id, None)
        if session is None:
            raise not_found("such guest")
        self.key = token_urlsafe(SECRET_BYTES)
        self._keep()
        for sid in session.sids:
            await self._interface.subscriptions.remove(sid)
        session.events.end()
        await session.sharing.end()
        for folder in self._file.parent.glob(f"galleries/*/{FOLDER}/{guest_id}"):
            await asyncio.to_thread(shutil.rmtree, folder, True)

    def call(self, session: ViewerSession, name: str) -> None:
        """Change a person's name; guests are identified by their host."""
        if session.guest is None:
            session.sharing.photos.call_me(name)
            for one in self._guests.values():
                self._name(one)
            return
        called = plain(name, GUEST_NAME_CHARS)
        if not called:
            raise InputError("give your name; others see it with your photos")
        session.guest.name = called
        self._name(session)
        self._keep()

    def subscriptions(self, session: ViewerSession) -> list[SubscriptionView]:
        others = {sid for one in self._guests.values() if one is not session for sid in one.sids}
        return [
            view
            for view in self._interface.subscriptions.views()
            if (view.sid in session.sids if session.guest else view.sid not in others) and view.query != DELETED_PHOTO
        ]

    async def subscribe(self, session: ViewerSession, asked: NewSubscription) -> SubscriptionView:
        if session.guest is not None and len(session.sids) >= GUEST_SUBSCRIPTIONS:
            raise RequestError(409, "full", f"guests can have {GUEST_SUBSCRIPTIONS} subscriptions; end one first")
        self._adding += 1
        try:
            view = await self._interface.subscriptions.add(asked)
        finally:
            self._adding -= 1
        if session.guest is not None:
            session.sids.add(view.sid)
            session.keep_subscriptions()
        self._known.add(view.sid)
        self._claim(view.sid, session)
        if not self._adding:
            for sid in list(self._unclaimed):  # made by other programs of the host
                self._claim(sid, self.host)
        return view

    def _claim(self, sid: int, session: ViewerSession) -> None:
        for notice in self._unclaimed.pop(sid, ()):
            self._notify(session, notice)

    async def unsubscribe(self, session: ViewerSession, sid: int) -> None:
        self._expect(session, sid)
        await self._interface.subscriptions.remove(sid)
        session.sids.discard(sid)
        if session.guest is not None:
            session.keep_subscriptions()
        session.events.put("unsubscribed", {"subscription": sid}, sid)

    async def more(self, session: ViewerSession, sid: int) -> SubscriptionView:
        self._expect(session, sid)
        return await self._interface.subscriptions.more(sid)

    def deleted(self, key: str) -> None:
        """A photo was deleted, here or elsewhere: it disappears from all sessions that have not downloaded it."""
        self._deleted[key] = None
        for session in (self.host, *self._guests.values()):
            session.sharing.forget(key)

    def _expect(self, session: ViewerSession, sid: int) -> None:
        if sid not in {view.sid for view in self.subscriptions(session)}:
            raise not_found(f"subscription {sid}")

    def _open(self, guest: Guest) -> ViewerSession:
        folder = self._folder / FOLDER / guest.id
        session = self._guests[guest.id] = ViewerSession(self._interface, folder, self._options, self._thread, guest)
        self._name(session)
        session.sharing.deleted = self.deleted
        return session

    def _name(self, session: ViewerSession) -> None:
        assert session.guest is not None
        host = self.host.sharing.photos.by
        session.sharing.photos.call_me(f"{session.guest.name}{GUEST}" + (f" of {host}" if host else ""))

    def _heard(self, notice: Notice) -> None:
        if self._heard_before is not None:
            self._heard_before(notice)
        if notice.tags == (DELETED_PHOTO,):
            if notice.text.rpartition("@")[2] == str(notice.key.owner):  # only its owner can delete a photo
                self.deleted(notice.text)
            return
        if str(notice.key) in self._deleted:
            return
        sid = notice.subscription.sid
        session = next((one for one in self._guests.values() if sid in one.sids), None)
        if session is None and self._adding and sid not in self._known:
            self._unclaimed.setdefault(sid, []).append(notice)
            return
        self._notify(session or self.host, notice)

    def _notify(self, session: ViewerSession, notice: Notice) -> None:
        session.sharing.notified(notice)
        if session.guest is not None:
            session.events.put("notified", {"subscription": notice.subscription.sid}, notice.subscription.sid)

    def _keep(self) -> None:
        guests = [session.guest for session in self._guests.values() if session.guest is not None]
        write_file(self._file, msgspec.json.encode(_Kept(self.key, guests)))
        os.chmod(self._file, 0o600)  # noqa: PTH101 - it holds what lets somebody in


def _read(file: Path) -> _Kept:
    if not file.exists():
        return _Kept(token_urlsafe(SECRET_BYTES), [])
    return msgspec.json.decode(file.read_bytes(), type=_Kept)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _cookie_name(headers: Headers) -> str:
    """With the port, because browsers mix the cookies of a host's ports."""
    return f"thyme-guest-{headers.get('host', '').rpartition(':')[2]}"
