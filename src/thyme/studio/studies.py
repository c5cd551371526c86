"""The studio's studies: answers to questions become a study file, which is played in a child process, one at a time.

Every study has a folder named by what it asks, so asking the same again goes on where the last one stopped, or shows
its report at once.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import msgspec

from thyme.live.failures import RequestError
from thyme.model.errors import InputError
from thyme.pipeline.runs.sweep import SweepProgress
from thyme.studio.play import Answer, ProgressLine
from thyme.study.decision import prior_words
from thyme.study.definition import load_study
from thyme.study.estimate import estimate_words
from thyme.study.folder import REPORT_FILE
from thyme.study.plan import make_plan
from thyme.study.questions import description_of, study_text
from thyme.study.stages import StageReport

FILE = "study.toml"
RESULTS = "results"
PLAYER = ("-m", "thyme.studio.play")
LOG_LINES = 20
"""Of what the child process says of errors."""
STOP_S = 10.0
_OPTION = re.compile(r"^(?:(?:--[a-z]+(?: [^:]*)?|thyme study new): )+")
"""What the terminal puts before an error; the page shows it beside the field."""


class AnswerChoice(msgspec.Struct, frozen=True):
    value: str
    words: str


class Question(msgspec.Struct, frozen=True):
    """A field of the page; one without choices is typed."""

    key: str
    words: str
    default: str
    choices: tuple[AnswerChoice, ...] = ()
    hint: str = ""


def _choices(**words: str) -> tuple[AnswerChoice, ...]:
    return tuple(AnswerChoice(value, said) for value, said in words.items())


QUESTIONS = (
    Question("name", "What is your event called?", "my event"),
    Question(
        *("contents", "What do people share?", "photos"),
        _choices(messages="Messages", photos="Photos and messages", videos="Videos and messages"),
    ),
    Question("size", "How large is a photo or a video?", "", hint="Such as 100kB or 2MB. Empty: 100 kB, 2 MB."),
    Question("people", "How many people?", "36", hint="At least 2. More people take longer to simulate."),
    Question("venue", "How large is the venue, in metres?", "", hint="Such as 200x100. Empty: a dense crowd."),
    Question(
        *("movement", "How do they move?", "stand"),
        _choices(stand="They stand or sit", some="Some walk around", walk="All walk around"),
    ),
    Question(
        *("going", "Do they stay?", "stay"),
        _choices(stay="They stay", leave="A tenth leaves", switch="Some switch off and on again"),
    ),
    Question(
        *("server", "Can somebody bring a server?", "yes"), _choices(yes="Yes", no="No, phones alone"),
        "A small computer on the same network.",
    ),
    Question(
        *("priority", "What matters most?", "traffic"),
        _choices(
            delivery="Everything arrives", delay="It arrives fast", battery="Batteries last", traffic="Little is sent"
        ),
    ),
    Question(
        *("quick", "How thorough?", "no"),
        _choices(no="Also vary the crowd: does the answer still hold?", yes="Quick: only this crowd"),
    ),
)  # fmt: skip


class Checked(msgspec.Struct, frozen=True):
    """What can be said before anything is played; errors are by question."""

    errors: dict[str, str]
    estimate: str = ""
    expected: str = ""
    """What the decision map lets one expect."""


class Progress(msgspec.Struct, frozen=True):
    state: Literal["none", "running", "done", "stopped", "failed"] = "none"
    answers: dict[str, str] = {}
    stages: tuple[StageReport, ...] = ()
    sweep: SweepProgress | None = None
    answer: Answer | None = None
    error: str = ""


class Studies:
    """The studies in a folder, and the one that is played now or was played last."""

    def __init__(self, folder: Path, player: Sequence[str] = PLAYER) -> None:
        """`player` are the arguments with which Python plays a study, before its file and folder."""
        self._folder, self._player = folder, player
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None
        self.place: Path | None = None
        """The folder of the current study."""
        self.progress = Progress()

    def check(self, answers: Mapping[str, str]) -> Checked:
        """Reads the study as `thyme study` would; takes some tenths of a second."""
        text, errors = self._text(answers)
        if errors:
            return Checked(errors)
        with TemporaryDirectory(prefix="thyme-studio-") as folder:
            file = Path(folder) / FILE
            file.write_text(text, encoding="utf-8")
            definition = load_study(file)
        takes, smaller, _ = estimate_words(definition).partition(" A smaller study")
        if smaller:  # with options for a terminal
            takes += " Choose the quick study or fewer people for less."
        return Checked({}, takes, prior_words(make_plan(definition)))

    def _text(self, answers: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """The study file, or what is wrong with which answer."""
        given: dict[str, Any] = {}
        errors: dict[str, str] = {}
        file = self._folder / "studio.toml"
        for question in QUESTIONS:
            key, answer = question.key, answers.get(question.key, question.default).strip()
            value: Any = answer
            if question.choices and answer not in {choice.value for choice in question.choices}:
                errors[key] = "choose one of these"
                continue
            if key == "name":
                if not re.fullmatch(r"[\w .-]{1,60}", answer) or not re.search(r"\w", answer):
                    errors[key] = "give a name of up to 60 letters, digits, spaces, dots and hyphens"
                file = self._folder / f"{_file_name(answer)}.toml"
                continue
            if key == "people":
                if not answer.isascii() or not answer.isdigit() or len(answer) > 9:
                    errors[key] = "give a whole number, such as 36"
                    continue
                value = int(answer)
            elif key in ("server", "quick"):
                value = answer == "yes"
            try:
                description_of(given | {key: value}, file)
                given[key] = value
            except InputError as error:
                errors[key] = _OPTION.sub("", str(error))
        return ("" if errors else study_text(description_of(given, file))), errors

    def _written(self, text: str) -> Path:
        """The folder of a study, with its file in it."""
        name = re.search(r'^name = "(.*)"$', text, re.MULTILINE)
        assert name is not None, "study_text writes it"
        place = self._folder / f"{name[1]}-{sha256(text.encode()).hexdigest()[:8]}"
        place.mkdir(parents=True, exist_ok=True)
        (place / FILE).write_text(text, encoding="utf-8")
        return place

    async def start(self, answers: Mapping[str, str]) -> Checked:
        """Play a study, unless an answer is wrong."""
        if self._task is not None and not self._task.done():
            raise RequestError(409, "running", "a study is running; stop it first")
        text, errors = self._text(answers)
        if not errors:
            place = self.place = self._written(text)
            self.progress = Progress("running", dict(answers))
            self._task = asyncio.create_task(self._play(place))
        return Checked(errors)

    async def _play(self, place: Path) -> None:
        process = self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, *self._player, str(place / FILE), str(place / RESULTS)),
            stdout=PIPE, stderr=PIPE, start_new_session=True,
        )  # fmt: skip
        said: deque[str] = deque(maxlen=LOG_LINES)
        try:
            await asyncio.gather(self._follow(process), _drain(process, said))
            code = await process.wait()
        finally:
            self._process = None
        if self.progress.state == "running":
            wrong = self.progress.error or (said[-1] if said else f"the study ended with code {code}")
            self._change(state="failed", error=wrong) if code else self._change(state="done")

    async def _follow(self, process: Process) -> None:
        assert process.stdout is not None, "it was asked for"
        async for raw in process.stdout:
            try:
                line = msgspec.json.decode(raw, type=ProgressLine)
            except msgspec.DecodeError:  # Spark may say something here
                continue
            if line.stage is not None:
                others = tuple(one for one in self.progress.stages if one.name != line.stage.name)
                self._change(stages=(*others, line.stage))
            if line.sweep is not None:
                self._change(sweep=line.sweep)
            if line.answer is not None:
                self._change(answer=line.answer)
            if line.error:
                self._change(error=line.error)

    def _change(self, **changes: Any) -> None:
        self.progress = msgspec.structs.replace(self.progress, **changes)

    async def stop(self) -> None:
        """End the study; what is done stays for the next time."""
        process, task = self._process, self._task
        if process is not None and task is not None:
            self._change(state="stopped")
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                await asyncio.wait_for(asyncio.shield(task), STOP_S)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await task

    @property
    def file(self) -> Path | None:
        return self.place / FILE if self.place is not None else None

    @property
    def report(self) -> Path | None:
        """Once the study is done."""
        if self.place is None or self.progress.state != "done":
            return None
        return self.place / RESULTS / REPORT_FILE


async def _drain(process: Process, said: deque[str]) -> None:
    assert process.stderr is not None, "it was asked for"
    async for raw in process.stderr:
        said.append(raw.decode(errors="replace").strip())


def _file_name(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-").lower() or "study"
