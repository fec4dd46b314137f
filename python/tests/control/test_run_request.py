# SPDX-License-Identifier: Apache-2.0
"""The files that a run's manager accepts as requests, for every kind, and the requesters that get its answers."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.handover.join_request import JOIN, JoinAnswer
from rashpa.control.handover.run_request import (
    AnswerError,
    ManagerGoneError,
    RequestDesk,
    RequestKind,
    RunRequest,
    wanted_before,
)
from rashpa.control.handover.stop_request import STOP, Stop, StopAnswer
from rashpa.control.plan.groups import Joined
from rashpa.data.files.private_file import put_private

KINDS = [
    pytest.param(STOP, Stop("a@b"), StopAnswer(frames=7, reasons=("one", "two")), id="stop"),
    pytest.param(JOIN, Joined("farm", {"name": "c", "port": 9}), JoinAnswer("c is a member", ""), id="join"),
]
every_kind = pytest.mark.parametrize(("kind", "what", "answer"), KINDS)
Kind = RequestKind[Any, Any]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "out" / "run_attach.json"


@pytest.fixture(autouse=True)
def folder(journal: Path) -> Path:
    journal.parent.mkdir()
    return journal.parent


def names(journal: Path) -> list[str]:
    return sorted(path.name for path in journal.parent.iterdir())


def refusals(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "was refused" in record.getMessage()]


@every_kind
def test_what_is_wanted_is_told_until_it_is_answered_and_who_asks_removes_it(
    journal: Path, kind: Kind, what: Any, answer: Any
) -> None:
    desk = RequestDesk(kind, journal)
    assert desk.next() is None
    request = RunRequest(kind, journal, what)
    assert request.path.stat().st_mode & 0o777 == 0o600
    wanted = desk.next()
    assert wanted is not None
    assert wanted.what == what
    assert desk.next() == wanted, "it may be asked for again, as by who takes the run over"
    assert request.answer() is None
    desk.forget()
    assert desk.next() == wanted, "somebody waits"
    desk.answer(wanted, answer)
    assert desk.next() is None
    assert request.answer() == answer
    desk.close()
    assert request.answer() == answer, "it is there until it was read"
    request.close()
    assert names(journal) == []


@every_kind
def test_a_request_of_somebody_else_is_refused_and_logged_and_stands_in_nobodys_way(
    journal: Path, kind: Kind, what: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    request = RunRequest(kind, journal, what)
    owner = os.geteuid()
    if owner == 0:
        os.chown(request.path, 12345, 12345)
        owner = 12345
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    desk = RequestDesk(kind, journal)
    assert desk.next() is None
    (said,) = refusals(caplog)
    assert f"{kind.path(journal)}: a request that was refused: it belongs to user {owner}" in said
    assert names(journal) == []
    request.close()


@every_kind
def test_who_is_not_the_runs_user_is_told_before_he_waits(
    journal: Path, kind: Kind, what: Any, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.close(put_private(journal, b"{}"))
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PermissionError, match=f"the run is user {owner}'s.*ask as that user"):
        RunRequest(kind, journal, what)
    assert names(journal) == [journal.name]


@every_kind
def test_a_link_is_not_followed(
    journal: Path, tmp_path: Path, kind: Kind, what: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    real = RunRequest(kind, tmp_path / "elsewhere", what)
    before = real.path.read_bytes()
    kind.path(journal).symlink_to(real.path)
    wanted = RequestDesk(kind, tmp_path / "elsewhere").next()
    assert wanted is not None
    desk = RequestDesk(kind, journal)
    desk.answer(wanted, answer)
    assert real.path.read_bytes() == before, "nothing is written through it"
    assert desk.next() is None
    assert "it is a link" in refusals(caplog)[0]
    assert names(journal) == []
    assert real.path.exists()
    real.close()


@every_kind
def test_a_huge_file_is_not_read(
    journal: Path, kind: Kind, what: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with kind.path(journal).open("wb") as file:
        file.truncate(1 << 40)
    assert RequestDesk(kind, journal).next() is None
    assert f"it has {1 << 40} bytes" in refusals(caplog)[0]
    assert names(journal) == []


@every_kind
def test_nobody_waits_for_a_pipe_and_a_folder_is_logged_once(
    journal: Path, kind: Kind, what: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    desk = RequestDesk(kind, journal)
    os.mkfifo(kind.path(journal))
    assert desk.next() is None
    assert "not a regular file" in refusals(caplog)[0]
    kind.path(journal).mkdir()
    for _ in range(3):
        assert desk.next() is None
    assert [("folder" in said) for said in refusals(caplog)] == [False, True], "it stays, and is told of once"


@every_kind
@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"[" * 100_000, b'{"id": "1", "what": {}}', b'{"id": 1}', b"\xff"])
def test_what_is_no_request_is_taken_away(
    journal: Path, kind: Kind, what: Any, answer: Any, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    kind.path(journal).write_bytes(text)
    assert RequestDesk(kind, journal).next() is None
    assert "none of this version" in refusals(caplog)[0]
    assert names(journal) == []


@every_kind
def test_an_answer_reaches_nobody_but_who_has_asked(journal: Path, kind: Kind, what: Any, answer: Any) -> None:
    desk = RequestDesk(kind, journal)
    first = RunRequest(kind, journal, what)
    wanted = desk.next()
    assert wanted is not None
    first.close()
    second = RunRequest(kind, journal, what)
    desk.answer(wanted, answer)
    assert second.answer() is None
    assert first.answer() is None
    assert desk.next() is not None, "the second one waits for his"
    second.close()


@every_kind
def test_two_do_not_ask_at_once_and_the_second_is_told_what_for(
    journal: Path, kind: Kind, what: Any, answer: Any
) -> None:
    first = RunRequest(kind, journal, what)
    with pytest.raises(FileExistsError):
        RunRequest(kind, journal, what)
    assert wanted_before(kind, journal) == what
    first.close()
    assert wanted_before(kind, journal) is None


@every_kind
def test_one_that_nobody_waits_for_any_more_is_removed_with_its_answer(
    journal: Path, kind: Kind, what: Any, answer: Any
) -> None:
    def killed() -> RequestDesk[Any, Any]:
        request = RunRequest(kind, journal, what)
        os.close(request._file)  # what the system does for one that is killed
        return RequestDesk(kind, journal)

    desk = killed()
    wanted = desk.next()
    assert wanted is not None
    desk.answer(wanted, answer)
    assert names(journal) == []
    killed().forget()
    assert names(journal) == []
    killed().close()
    assert names(journal) == []


@every_kind
def test_who_waits_is_told_when_nobody_is_left_or_it_takes_too_long(
    journal: Path, kind: Kind, what: Any, answer: Any
) -> None:
    request = RunRequest(kind, journal, what)
    with pytest.raises(ManagerGoneError):
        request.wait(60.0)
    lives = put_private(journal, b"{}")
    with pytest.raises(TimeoutError):
        request.wait(0.1)
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(request.wait(60.0)))
    waiting.start()
    desk = RequestDesk(kind, journal)
    wanted = desk.next()
    assert wanted is not None
    desk.answer(wanted, answer)
    waiting.join()
    assert found == [answer]
    os.close(lives)
    assert request.wait(60.0) == answer, "an answer counts also of a manager that has gone since"
    text = request.path.read_text().partition('"answer": ')
    request.path.write_text("".join((*text[:2], '{"frames": "many"}}')))
    with pytest.raises(AnswerError, match="not an answer"):
        request.answer()
    request.close()


def test_a_run_goes_on_where_nothing_can_be_read(journal: Path, caplog: pytest.LogCaptureFixture) -> None:
    desk = RequestDesk(STOP, journal.parent / "absent" / "run_attach.json")
    assert desk.next() is None
    desk.forget()
    desk.close()
    assert refusals(caplog) == []
