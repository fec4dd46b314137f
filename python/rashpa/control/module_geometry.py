# SPDX-License-Identifier: Apache-2.0
"""`detector.geometry`: the places of modules from a file, in place of [[detector.module]]."""

from rashpa.control import run_file as toml
from rashpa.control.run_file_reader import RunFileError, RunFileSource
from rashpa.data.file_names import located


def with_places(file: toml.RunFile, source: RunFileSource) -> toml.RunFile:
    """The run file as if the places stood in it; and the beam, where it does not say that itself. RunFileError names what is wrong."""
    detector = file.detector
    if detector.geometry is None:
        return file
    where = source.where(("detector", "geometry"))
    if "module" in detector.model_fields_set:
        raise RunFileError(f"{where}: the places of modules stand in [[detector.module]], too; keep one of both")
    from rashpa.data.crystfel_modules import read_module_places  # NumPy, for runs that have such a file

    path = located(detector.geometry, source.path.resolve().parent)
    try:
        found = read_module_places("geometry", path, (detector.height, detector.width), toml.MOST_MODULES)
    except (OSError, ValueError) as error:
        raise RunFileError(f"{where}: {str(error).removeprefix('geometry: ')}") from None
    modules = [
        toml.Module.model_validate({"x": x, "y": y, "turn": way.turn, "flip": way.flip})
        for (x, y), way in zip(found.places, found.orientations, strict=True)
    ]
    update: dict[str, object] = {"module": modules, "geometry": None}
    if detector.beam_center_x is None and detector.beam_center_y is None:
        update |= {"beam_center_x": found.beam[0], "beam_center_y": found.beam[1]}
    return file.model_copy(update={"detector": detector.model_copy(update=update)})
