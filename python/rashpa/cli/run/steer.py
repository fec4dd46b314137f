# SPDX-License-Identifier: Apache-2.0
"""`rashpa pause|resume|abort OUT`: sends orders to the manager of a run, from any machine that can read its output folder."""

from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.run.stop import who
from rashpa.cli.teller import AsJson, Teller
from rashpa.control.handover.journal import JournalError, find_journal
from rashpa.control.handover.steering import SteerError, Way, steer

_Where = Annotated[
    Path,
    typer.Argument(
        metavar="OUT", help="Output folder of the run, or the journal in it (…_attach.json).", show_default=False
    ),
]
_Timeout = Annotated[float, typer.Option("--timeout", min=1.0, help="Seconds to wait for the answer of the manager.")]


def pause(where: _Where, timeout_s: _Timeout = 30.0, as_json: AsJson = False) -> None:
    """Pause a run: its emulators stop before the same frame, at the end of whole stacks, or at once where these take over 10 s."""
    _ask("pause", where, timeout_s, as_json)


def resume(where: _Where, timeout_s: _Timeout = 30.0, as_json: AsJson = False) -> None:
    """Go on with a paused run at its former rate. The pause delays its frames, and none is left out."""
    _ask("resume", where, timeout_s, as_json)


def abort(where: _Where, timeout_s: _Timeout = 30.0, as_json: AsJson = False) -> None:
    """End a run at once, as Ctrl-C in front of it does: files are completed, images that have not come are missing. `rashpa stop` ends it in order."""
    _ask("abort", where, timeout_s, as_json)


def _ask(way: Way, where: Path, timeout_s: float, as_json: bool) -> None:
    tell = Teller(way, as_json)
    try:
        said = steer(find_journal(where), way, who(), timeout_s)
    except (JournalError, SteerError, OSError) as error:
        tell.refuse(str(error))
    tell.answer(said)
