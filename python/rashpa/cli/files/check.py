# SPDX-License-Identifier: Apache-2.0
"""`rashpa check`: finds faults in an NXmx file."""

from pathlib import Path
from typing import Annotated

import typer

from rashpa.cli.teller import AsJson, Follow, Teller
from rashpa.data.base.bad_file import BadFileError, no_memory
from rashpa.data.base.books import DataBooks
from rashpa.data.making.nxmx_check import check_entries, picture


def check(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="An NXmx file: a _master.h5 of ours or of others.", show_default=False),
    ],
    follow: Follow = None,
    as_json: AsJson = False,
) -> None:
    """Check an NXmx file of rashpa or of another program: places of pixels, units, masks, counts, times, links."""
    tell = Teller("check", as_json)
    try:
        checked = check_entries(file, follow or ())
    except BadFileError as error:
        tell.refuse(str(error))
    except MemoryError as error:
        tell.fail(f"{file}: {no_memory(error)}")
    for name, found in checked.items():
        if len(checked) > 1:
            tell.say(f"entry {name}:")
        for line in picture(found):
            tell.say(line)
        if found.modules:
            tell.say("seen from the sample, x to the left and y up: o first pixel, > end of its first row, + beam")
        for one in found.findings:
            tell.say(str(one))
    findings = [one for found in checked.values() for one in found.findings]
    images = sum(found.images for found in checked.values())
    wrong = sum(one.level == "wrong" for one in findings)
    text = f"{file}: {images} images; {wrong} wrong, {len(findings) - wrong} odd"
    said = [{"level": one.level, "where": one.where, "text": one.text} for one in findings]
    books = DataBooks(1, int(not wrong), errored=int(wrong > 0), unit="files")
    beam = next(iter(checked.values())).beam
    tell.end(text, books, [file], images=images, beam=beam, findings=said)


if __name__ == "__main__":
    typer.run(check)
