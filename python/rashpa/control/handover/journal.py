# SPDX-License-Identifier: Apache-2.0
"""Keeps the journal of a run, with which another process can take over the run when the manager dies (`rashpa attach`).

It is one file in the output folder, which exists from the time when all nodes belong to the run until the run's end. It holds the secret by which the
run owns its nodes, so that only its owner may read it. The manager writes it as a whole. A lock on it shows that the manager is alive.
"""

import contextlib
import fcntl
import io
import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rashpa.control.nodes.process_identity import is_process
from rashpa.control.plan.groups import Joined
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import joined_plan, plan_run
from rashpa.control.runfile.run_file_reader import RunFileSource, parse_run_file, run_file_of
from rashpa.data.base.rashpa_error import RashpaError
from rashpa.data.files.new_folders import missing_folders, remove_empty
from rashpa.data.files.private_file import NO_LOCKS, lock, put_private
from rashpa.data.files.regular_file import json_of, open_own, open_shared, read_shared, reason

VERSION = 1
SUFFIX = "_attach.json"
_MOST_BYTES = 8 << 20


class JournalError(RashpaError, ValueError):
    """Reports that there is no run to take over; the text gives reason and remedy."""


def no_such_run(where: Path) -> JournalError:
    """Return the error for a place where no run goes on."""
    what = "no such folder or journal" if not where.exists() else f"no *{SUFFIX} is there"
    return JournalError(
        f"{where}: there is no such run ({what}); it has not begun, has come to its end, or its output is elsewhere: give the folder of run.output"
    )


class ManagerLivesError(JournalError):
    """Reports that the run's manager is alive."""


@dataclass(frozen=True)
class KnownNode:
    """Describes the address of a node. `pid` and `identity`: those of a node that the manager has started, otherwise 0 and empty."""

    name: str
    url: str
    pid: int = 0
    identity: str = ""


@dataclass(frozen=True)
class Record:
    """Holds the content of the journal. `began`: the time when the emulators were started, by `since_boot()`; 0 before. Paths are absolute."""

    version: int
    holder: str
    owner: str
    local_token: str
    host: str
    run_file: str
    text: str
    is_toml: bool
    output: str
    report: str
    began: float
    nodes: tuple[KnownNode, ...]
    certificate: str = ""  # of nodes that another machine's engine has started
    joined: tuple[Joined, ...] = ()  # receivers that have joined since

    def plan(self) -> Plan:
        """Return the plan. Raise RunFileError when a file that it names no longer exists."""
        path = Path(self.run_file)
        if self.is_toml:
            plan = plan_run(*parse_run_file(path, self.text.encode()))
        else:
            file, source = run_file_of(json.loads(self.text))
            plan = plan_run(file, RunFileSource(path, self.text, source.sha256, is_toml=False))
        for joined in self.joined:
            plan = joined_plan(plan, joined)
        return plan

    @property
    def lasting(self) -> tuple[KnownNode, ...]:
        """Return the nodes that the manager has started and that are alive, as far as this machine can tell."""
        here = self.host == socket.gethostname()
        return tuple(node for node in self.nodes if here and is_process(node.pid, node.identity))


_RECORD = TypeAdapter(Record)


class Journal:
    """Writes the journal of one run, for its manager or for a process that has taken over the run. The file exists from `write` until `remove`."""

    def __init__(self, path: Path, report: str = "") -> None:
        self.path = path
        self.report = report
        self._lock = -1
        self._made: list[Path] = []

    def write(self, record: Record) -> None:
        """Write the record in place of an earlier one. Raise OSError when that fails."""
        self._made = [*self._made, *missing_folders(self.path.parent)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = put_private(self.path, json.dumps(asdict(record), indent=1).encode() + b"\n")
        self.close()
        self._lock = file

    def take_over(self) -> Record:
        """Take over the journal of a manager that has died, and return its record. Raise JournalError when there is none, or when the manager is
        alive."""
        try:
            file = _descriptor(open_own(self.path))
            try:
                lock(file)
                record = _record_of(self.path)
                if not os.path.samestat(os.fstat(file), self.path.stat()):
                    raise BlockingIOError
            except BaseException:
                os.close(file)
                raise
        except BlockingIOError:
            raise ManagerLivesError(
                f"{self.path}: {_holder_of(self.path)} lives; there is nothing to be taken over"
            ) from None
        except FileNotFoundError:
            raise no_such_run(self.path) from None
        except OSError as error:
            raise JournalError(f"{self.path}: cannot be read: {reason(error)}") from None
        self.close()
        self._lock = file
        return record

    def remove(self) -> None:
        """Remove the journal when the run is over and its nodes are free."""
        if self._lock < 0:
            return
        with contextlib.suppress(OSError):
            self.path.unlink()
        self.close()
        remove_empty(self._made)
        self._made.clear()

    def close(self) -> None:
        """Release the lock; the file stays unchanged."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def read_record(path: Path) -> Record:
    """Return the record without taking the lock, for viewers. Raise JournalError or OSError when there is no run, or when it belongs to another user."""
    return _record_of(path)


def journal_path(plan: Plan) -> Path:
    """Return the path of the journal of a run of this plan."""
    run = plan.file.run
    return run.folder.resolve() / f"{run.name}{SUFFIX}"


def journal_of(plan: Plan, report: Path | None = None) -> Journal:
    """Return the journal of a run that will begin. Raise JournalError when a run with the same name and output goes on."""
    path = journal_path(plan)
    what = f"{path}: a run of this name and output goes on"
    other = "choose another run.name or run.output"
    try:
        file = _descriptor(open_shared(path))
    except OSError:  # there is none, or `write` says what is wrong
        return Journal(path, str(report.resolve()) if report is not None else "")
    try:
        lock(file)
        lasting = _record_of(path).lasting
    except BlockingIOError:
        raise JournalError(f"{what}, {_holder_of(path)}; wait for its end, or {other}") from None
    except (JournalError, OSError):  # an unreadable journal is no run
        lasting = ()
    finally:
        os.close(file)
    if lasting:
        pids = ", ".join(f"{node.name} is process {node.pid}" for node in lasting)
        raise JournalError(
            f"{what} without its manager ({pids}); take it over with `rashpa attach {path.parent}`, or {other}"
        )
    return Journal(path, str(report.resolve()) if report is not None else "")


def journal_lives(path: Path) -> bool:
    """Return True when the manager of that journal is alive, as far as a lock can tell."""
    try:
        file = _descriptor(open_shared(path))
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        return error.errno in NO_LOCKS
    else:
        return False
    finally:
        os.close(file)


def find_journal(where: Path) -> Path:
    """Return the path `where` of a journal, or the only journal in an output folder. Raise JournalError when there is none, or several."""
    if not where.exists():
        raise no_such_run(where)
    if not where.is_dir():
        return where
    found = sorted(where.glob(f"*{SUFFIX}"))
    if len(found) == 1:
        return found[0]
    if found:
        raise JournalError(
            f"{where}: {len(found)} runs may go on: {', '.join(path.name for path in found[:8])}; name one"
        )
    raise no_such_run(where)


def _descriptor(file: io.BufferedReader) -> int:
    """Return a descriptor of the file that stays open when the file object is closed."""
    with file:
        return os.dup(file.fileno())


def _record_of(path: Path) -> Record:
    try:
        values: Any = json_of(read_shared(path, _MOST_BYTES))
        if not isinstance(values, dict) or values.get("version") != VERSION:
            raise JournalError(
                f"{path}: not a journal of this version of rashpa; free the nodes with `rashpa free URL`"
            )
        return _RECORD.validate_python(values)
    except (ValueError, ValidationError) as error:
        if isinstance(error, JournalError):
            raise
        raise JournalError(f"{path}: not the journal of a run; give the output folder of the run") from None


def _holder_of(path: Path) -> str:
    """Return the name of the journal's manager, for people."""
    try:
        return _record_of(path).holder
    except (JournalError, OSError):
        return "its manager"
