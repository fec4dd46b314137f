# SPDX-License-Identifier: Apache-2.0
"""`rashpa check`: what is wrong in an NXmx file."""

from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.told import AsJson, Follow, Teller
from rashpa.data.bad_file import BadFileError, no_memory
from rashpa.data.books import DataBooks
from rashpa.data.hdf5.files import folders_of
from rashpa.data.nxmx_check import check_file, picture


def check(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="An NXmx file: a _master.h5 of ours or of others.", show_default=False),
    ],
    follow: Follow = None,
    as_json: AsJson = False,
) -> None:
    """Judge an NXmx file, of ours or of others: places of pixels, units, masks, counts, times, links.

    Exit code 0 when nothing is wrong; 2 when the file cannot be read; 3 when something is wrong, so that images would be taken for others.
    """
    tell = Teller("check", as_json)
    try:
        found = check_file(file, folders_of(file, follow or ()))
    except BadFileError as error:
        tell.refuse(str(error))
    except MemoryError as error:
        tell.fail(f"{file}: {no_memory(error)}")
    for line in picture(found):
        tell.say(line)
    if found.modules:
        tell.say("seen from the sample, x to the left and y up: o first pixel, > end of its first row, + beam")
    for one in found.findings:
        tell.say(str(one))
    wrong = sum(one.level == "wrong" for one in found.findings)
    text = f"{file}: {found.images} images; {wrong} wrong, {len(found.findings) - wrong} odd"
    findings = [{"level": one.level, "where": one.where, "text": one.text} for one in found.findings]
    books = DataBooks(1, int(found.good), errored=int(not found.good), unit="files")
    tell.end(text, books, [file], images=found.images, beam=found.beam, findings=findings)


if __name__ == "__main__":
    typer.run(check)
