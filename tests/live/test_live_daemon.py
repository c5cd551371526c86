"""A node that programs share: its control socket, what commands ask it, and its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from stat import S_IMODE
from typing import Any

import commands
import msgspec
import pytest
from commands import Done
from typer.testing import CliRunner

from thyme.cli.namespaces import app as namespaces
from thyme.cli.node import app
from thyme.live.daemon.client import Client, NoDaemon
from thyme.live.daemon.paths import control_path
from thyme.live.failures import Refused
from thyme.live.trust.keyring import Keyring
from thyme.live.trust.namespaces import Namespace
from thyme.model.errors import InputError

PROGRAM = [sys.executable, "-c", "from thyme.cli.main import run; run()"]
QUICK = ["--set", "join.wait_s=0.05"]
PATIENCE_S = 60.0

pytestmark = pytest.mark.long


def wait_for(client: Client, peers: int = 0) -> Client:
    give_up_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_s:
        try:
            state = client.status()
            if state.joined and state.peers == peers:
                return client
        except NoDaemon:
            pass
        time.sleep(0.05)
    raise AssertionError("the daemon did not come up")


def test_a_daemon_renews_and_follows_the_key_of_its_namespace(tmp_path: Path) -> None:
    """As people do it: one device creates, both run daemons, the creator renews, and later excludes somebody."""

    def namespace(*arguments: str, at: str) -> str:
        given = ["--store", str(tmp_path / at), "--control", str(tmp_path / f"{at}.sock")]
        done = CliRunner().invoke(namespaces, [*arguments, *given], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output.strip()

    invitation = CliRunner().invoke(namespaces, ["new", "final", "--closed", "--store", str(tmp_path / "one")]).output
    clients: list[Client] = []
    running = []
    for at, shared in (("one", "final"), ("two", invitation.strip())):
        client = Client(tmp_path / f"{at}.sock")
        peers = ["--peer", clients[0].status().address] if clients else []
        given = ["node", "start", "--service", "--control", str(client.path), "--store", str(tmp_path / at)]
        given += ["--listen", "127.0.0.1:0", "--namespace", shared, "--approach", "ls"]
        running.append(subprocess.Popen([*PROGRAM, *given, *QUICK, *peers], stdout=subprocess.DEVNULL))
        clients.append(wait_for(client, len(clients)))
    try:
        one, two = clients
        renewed = namespace("renew", "final", at="one")
        assert renewed != invitation.strip()
        give_up_s = time.monotonic() + PATIENCE_S
        while Keyring(tmp_path / "two").find("final") != Namespace.invited(renewed):
            assert time.monotonic() < give_up_s
            time.sleep(0.05)
        assert (one.status().peers, two.status().peers) == (1, 1)
        changed = namespace("shut-out", "final", at="one")
        wait_for(one, 0)
        assert namespace("join", changed, at="two") == "final has a new key"
        wait_for(one, 1)
        one.insert(BytesIO(b"3-3!"), 4, "kick", ["goal"])
        assert [each.name for each in two.found("goal")] == ["kick"]
    finally:
        for client in clients:
            client.stop()
    assert [process.wait(PATIENCE_S) for process in running] == [0, 0]


def test_status_counts_one_as_one(two: tuple[Client, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    state = msgspec.structs.replace(two[0].status(), objects=1, subscriptions=2)
    monkeypatch.setattr(Client, "status", lambda _: state)
    told = CliRunner().invoke(app, ["status"])
    assert "1 in range, 1 object known, 2 subscriptions\n" in told.output


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Client]]:
    """Two daemons that hear each other."""
    folder = tmp_path_factory.mktemp("d")
    clients: list[Client] = []
    running = []
    for i in (1, 2):
        path = folder / f"{i}.sock"
        peers = ["--peer", clients[0].status().address] if clients else []
        given = ["node", "start", "--service", "--id", str(i), "--control", str(path), "--store", str(folder / str(i))]
        running.append(subprocess.Popen([*PROGRAM, *given, *QUICK, *peers], stdout=subprocess.DEVNULL))
        clients.append(wait_for(Client(path), i - 1))
    yield wait_for(clients[0], 1), clients[1]
    for client in clients:
        client.stop()
    assert [process.wait(PATIENCE_S) for process in running] == [0, 0]
    assert not list(folder.glob("*.sock"))


def thyme(client: Client, *arguments: str, folder: Path, given: bytes = b"") -> Done:
    return commands.thyme(*arguments, "--control", str(client.path), folder=folder, given=given)


def lines(done: Done) -> list[Any]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_verbs_store_list_fetch_and_remove(two: tuple[Client, Client], tmp_path: Path) -> None:
    one, other = two
    photo = os.urandom(300_000)
    (tmp_path / "kick.jpg").write_bytes(photo)
    done = thyme(one, "put", "kick.jpg", "--tags", "goal,final", folder=tmp_path)
    assert done.stdout == "kick.jpg@1  300.0 kB\n", done.stderr
    thyme(one, "put", "-", "--name", "note", "--tags", "goal, replay", folder=tmp_path, given=b"3-3!")
    short = thyme(one, "put", "brief", "--text", "soon over", "--tags", "talk", "--expires", "1s", folder=tmp_path)
    assert short.stdout.startswith("brief@1  9 B  until "), short.stderr
    (tmp_path / "kick.jpg").unlink()

    found = lines(thyme(other, "ls", "goal & !replay", "--last", "10m", "--json", folder=tmp_path))
    assert [(each["key"], each["tags"], each["own"]) for each in found] == [("kick.jpg@1", ["final", "goal"], False)]
    assert thyme(other, "get", "kick.jpg", folder=tmp_path).stdout == "kick.jpg  300.0 kB\n"
    assert (tmp_path / "kick.jpg").read_bytes() == photo
    again = thyme(other, "get", "kick.jpg@1", folder=tmp_path)
    assert (again.returncode, "kick.jpg exists already" in again.stderr) == (2, True)

    told = lines(thyme(other, "sub", "goal", "--past", "--last", "10m", "--json", folder=tmp_path))
    assert sorted(each["object"]["name"] for each in told) == ["kick.jpg", "note"]
    assert thyme(other, "get", "note", "-o", "-", folder=tmp_path).stdout == "3-3!"
    assert thyme(one, "rm", "note", folder=tmp_path).returncode == 0
    assert "object note@1 of this device was deleted" in thyme(one, "get", "note", folder=tmp_path).stderr
    while other.found("talk"):
        pass
    assert thyme(other, "get", "brief@1", folder=tmp_path).returncode != 0
    assert [each.name for each in one.objects() if each.expires_s is None] == ["kick.jpg"]
    assert [each.name for each in other.found("goal")] == ["kick.jpg"]
    assert thyme(one, "peers", folder=tmp_path).stdout.startswith("2  127.0.0.1:")
    assert thyme(one, "node", "name", "Anna", folder=tmp_path).returncode == 0
    assert (thyme(one, "node", "name", folder=tmp_path).stdout, one.status().name) == ("Anna\n", "Anna")
    assert thyme(one, "node", "place", "12.5,40", folder=tmp_path).returncode == 0
    assert one.status().position == (12.5, 40.0)


def test_what_cannot_be_done_is_one_line(two: tuple[Client, Client], tmp_path: Path) -> None:
    one, _ = two
    for arguments, said in [
        (("get", "nothing"), "there is no object nothing@1 that this node knows of; look for it with: thyme ls QUERY"),
        (("get", "nothing@9"), "that this node knows of; look for it with: thyme ls QUERY"),
        (("rm", "nothing@1"), "this node has no object 'nothing'"),
        (("ls", "goal &"), "expected a tag"),
        (("sub", "goal", "--last", "soon"), "'soon' is not a duration"),
        (("sub", "goal", "--past", "--future"), "--future excludes past objects, which --last and --past ask for"),
        (("put", "-", "--tags", "goal"), "name the object"),
        (("put", "x", "--text", "x", "--tags", "goal", "--expires", "soon"), "'soon' is not a duration"),
        (("put", "missing.jpg", "--tags", "goal"), "missing.jpg: No such file"),
    ]:
        done = thyme(one, *arguments, folder=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert said in done.stderr


def test_a_listener_hears_of_what_comes_and_leaves_no_subscription(two: tuple[Client, Client]) -> None:
    one, other = two
    heard = other.listen("corner", frame="future")
    assert next(heard)[0] == "subscribed"
    assert other.status().subscriptions == 1
    one.insert(BytesIO(b"x"), 1, "corner1", ["corner"], "left side")
    kind, said = next(heard)
    assert (kind, said["object"]["summary_text"]) == ("notified", "left side")
    heard.close()  # type: ignore[attr-defined]
    give_up_s = time.monotonic() + PATIENCE_S
    while other.status().subscriptions and time.monotonic() < give_up_s:
        time.sleep(0.05)
    assert other.status().subscriptions == 0


def test_many_past_matches_come_by_themselves(two: tuple[Client, Client]) -> None:
    one, other = two
    for i in range(25):
        one.insert(BytesIO(b"x"), 1, f"card{i}", ["card"])
    assert sum(kind == "notified" for kind, _ in other.listen("card", frame="past")) == 25
    with pytest.raises(Refused, match="inserted by this node before, with other contents"):
        one.insert(BytesIO(b"y"), 1, "card1", ["card"])


def test_a_socket_is_for_its_user_alone(two: tuple[Client, Client], monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = two
    assert S_IMODE(one.path.stat().st_mode) == 0o600
    monkeypatch.setattr(os, "getuid", lambda: one.path.stat().st_uid + 1)
    with pytest.raises(InputError, match="belongs to another user"):
        one.status()


def test_without_a_daemon_one_line_says_how_to_start_one(tmp_path: Path) -> None:
    done = thyme(Client(tmp_path / "none.sock"), "peers", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.endswith("start one with: thyme node start --background\n")


def test_a_daemon_in_the_background_knows_its_objects_after_a_restart(tmp_path: Path) -> None:
    folders = {name: str(tmp_path / "user") for name in ("XDG_DATA_HOME", "XDG_STATE_HOME")}
    client = Client(tmp_path / "b.sock")

    def start() -> subprocess.CompletedProcess[str]:
        command = [*PROGRAM, "node", "start", "--background", "--control", str(client.path), "--approach", "ls", *QUICK]
        given = {**os.environ, **folders}
        return subprocess.run(command, env=given, capture_output=True, text=True, timeout=PATIENCE_S)

    try:
        began = start()
        assert began.stdout.startswith("node "), began.stderr
        kept = client.insert(BytesIO(b"a photo"), 7, "kick", ["goal"])
        second = start()
        assert (second.returncode, "is already running" in second.stderr) == (2, True)
        client.stop()
        assert start().returncode == 0
        assert [each.key for each in client.objects()] == [kept.key]
        with client.retrieve(client.key_of("kick")) as answer:
            assert answer.read() == b"a photo"
    finally:
        client.stop()


def test_sockets_are_named_or_given_by_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    assert control_path() == tmp_path / "thyme" / "node.sock"
    assert control_path("club") == tmp_path / "thyme" / "club.sock"
    assert control_path("./club.sock") == Path("club.sock")
