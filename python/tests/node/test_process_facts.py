# SPDX-License-Identifier: Apache-2.0
"""Files of `rashpa process` describe the experiment as the stored file does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")

from rashpa.data.stored.source_facts import SourceFacts, read_source_facts
from rashpa.data.stored.stored_piece import Reading
from rashpa.node.offline.process import Job, Processed, Recording, process_recording
from rashpa.testing.foreign_nxmx import COLUMNS, CORNERS, PITCH, ROWS, foreign, put
from rashpa.testing.run_file import Table, run_file


def run_text(detector: Table | None) -> str:
    return run_file(
        run={"name": "again", "frames": 4},
        detector=detector or {},
        buffer={"slots": 4, "stack": 2, "sink": [{"kind": "hdf5"}]},
        receiver=None,
    )


def processed(folder: Path, source: Path, detector: Table | None = None) -> tuple[Processed, Path]:
    run = folder / "run.toml"
    run.write_text(run_text(detector=detector))
    found = process_recording(Job(run, "full", folder / "out", Recording("again", (source,)), replace=True))
    assert found.good
    return found, Path(f"{found.prefix}_master.h5")


def texts_of(values: Any) -> list[str]:
    return [] if isinstance(values, h5py.Empty) else [str(one) for one in values]


def test_what_only_the_source_says_is_taken_over(tmp_path: Path) -> None:
    found, master = processed(tmp_path, foreign(tmp_path / "f.h5"))
    (caution,) = found.cautions  # of its own contradiction
    assert "its beam centre 11.5, 7.25 is 24.7 pixels from where its axes put it (11.63, -17.44)" in caution
    with h5py.File(master) as file:
        entry, detector = file["entry"], file["entry/instrument/detector"]
        said = {
            name: float(detector[name][()])
            for name in (
                "distance",
                "x_pixel_size",
                "sensor_thickness",
                "count_time",
                "frame_time",
                "beam_center_x",
                "beam_center_y",
            )
        }
        expected = [0.25, 172e-6, 1e-3, 2e-3, 5e-3, 11.5, 7.25]
        assert list(said.values()) == pytest.approx(expected)
        assert float(entry["instrument/beam/incident_wavelength"][()]) == pytest.approx(1.3776)
        assert (detector["sensor_material"][()], entry["sample/name"][()]) == (b"CdTe", b"thaumatin")
        assert (entry["start_time"][()], entry["end_time"][()]) == (b"2025-03-01T10:00:00Z", b"2025-03-01T10:00:09Z")
        assert detector["saturation_value"][()] == 900
        mask = detector["pixel_mask"][()]
        assert (mask[3, 4], mask[10, 0], int(np.count_nonzero(mask))) == (2, 1 << 8, 65)
        process = entry["process"]
        assert process.attrs["NX_class"] == "NXprocess"
        assert process["program"][()] == b"rashpa process"
        assert process["date"][()].decode() > "2026"
        assert {"energy_kev", "distance_m", "beam_center_x"} < set(texts_of(process["source"].attrs["read_values"]))
        assert texts_of(process["source"].attrs["given_values"]) == []


def test_a_source_that_does_not_say_its_end_is_given_none(tmp_path: Path) -> None:
    source = foreign(tmp_path / "f.h5")
    with h5py.File(source, "r+") as file:
        del file["entry/end_time"]
    _, master = processed(tmp_path, source)
    with h5py.File(master) as file:
        assert file["entry/start_time"][()] == b"2025-03-01T10:00:00Z"
        assert "end_time" not in file["entry"], "when it was processed is no end of the run"


def test_modules_lie_where_the_source_has_them(tmp_path: Path) -> None:
    _, master = processed(tmp_path, foreign(tmp_path / "f.h5"))
    with h5py.File(master) as file:
        detector = file["entry/instrument/detector"]
        for number, corner in enumerate(CORNERS.values()):
            module = detector[f"m0_{number}"]
            assert module["data_origin"][()].tolist() == [0, 32 * number]
            assert module["module_offset"].attrs["offset"] == pytest.approx([*corner, 0.0])
            assert module["fast_pixel_direction"].attrs["vector"] == pytest.approx([0, 1, 0])
            assert module["slow_pixel_direction"].attrs["vector"] == pytest.approx([1, 0, 0])
            assert module["slow_pixel_direction"][()] == pytest.approx(PITCH)


def test_what_the_run_file_says_counts_and_a_difference_is_a_caution(tmp_path: Path) -> None:
    said = {"energy_kev": 12.4, "distance_m": 0.25, "sensor_material": "Si", "beam_center_x": 30.0}
    found, master = processed(tmp_path, foreign(tmp_path / "f.h5"), said)
    assert [text.partition("detector.")[2] for text in found.cautions] == [
        "beam_center_x: is 30, and f.h5 has 11.5; that of the run file counts",
        "energy_kev: is 12.4, and f.h5 has 9.00001; that of the run file counts",
        "sensor_material: is Si, and f.h5 has CdTe; that of the run file counts",
    ]
    with h5py.File(master) as file:
        detector = file["entry/instrument/detector"]
        assert detector["beam_center_x"][()] == 30.0
        assert detector["m0/fast_pixel_direction"].attrs["vector"] == pytest.approx([-1, 0, 0])
        given = texts_of(file["entry/process/source"].attrs["given_values"])
        assert given == ["beam_center_x", "distance_m", "energy_kev", "sensor_material"]


def test_a_run_of_ours_goes_through_unchanged(tmp_path: Path) -> None:
    _, first = processed(tmp_path, foreign(tmp_path / "f.h5"))
    (tmp_path / "b").mkdir()
    _, second = processed(tmp_path / "b", first)
    with h5py.File(first) as one, h5py.File(second) as other:
        names: list[str] = []
        one["entry/instrument/detector"].visit(names.append)
        for name in names:
            of_one, of_other = (file[f"entry/instrument/detector/{name}"] for file in (one, other))
            if isinstance(of_one, h5py.Dataset) and name != "pixel":
                assert np.array_equal(of_one[()], of_other[()]), name
                assert dict(of_one.attrs).keys() == dict(of_other.attrs).keys()


_DETECTOR = "entry/instrument/detector"
_STRANGE: list[tuple[str, Callable[[h5py.File], None], str, str]] = [
    ("unit", put(f"{_DETECTOR}/distance", 1.0, units="furlong"), "distance_m", "the unit 'furlong' is not known"),
    ("array", put(f"{_DETECTOR}/distance", [1.0, 2.0]), "distance_m", ""),
    ("words", put(f"{_DETECTOR}/distance", "far"), "distance_m", ""),
    ("nan", put(f"{_DETECTOR}/distance", np.nan, units="m"), "distance_m", ""),
    ("negative", put(f"{_DETECTOR}/distance", -1.0, units="m"), "distance_m", ""),
    ("unknown", put(f"{_DETECTOR}/sensor_material", "unknown"), "sensor_material", ""),
    ("group", lambda file: file.create_group(f"{_DETECTOR}/description"), "description", ""),
]


@pytest.mark.parametrize(("change", "key", "says"), [one[1:] for one in _STRANGE], ids=[one[0] for one in _STRANGE])
def test_a_value_that_is_none_is_not_taken(
    tmp_path: Path, change: Callable[[h5py.File], None], key: str, says: str
) -> None:
    found = facts_of(foreign(tmp_path / "f.h5", change))
    assert key not in found.values
    assert any(says in note for note in found.notes) or not says
    assert "energy_kev" in found.values


def facts_of(path: Path) -> SourceFacts:
    return read_source_facts(path, (ROWS, COLUMNS), Reading())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put(f"{_DETECTOR}/module_a/data_size", [ROWS, 90]), "does not lie in the image"),
        (put(f"{_DETECTOR}/module_a/fast_pixel_direction", 0.1, units="mm", depends_on="."), "has no vector"),
        (put(f"{_DETECTOR}/module_a/fast_pixel_direction", 0.1, vector=[0, 0, 0]), "is no step"),
        (
            put(f"{_DETECTOR}/module_a/fast_pixel_direction", 0.1, vector=[1, 0, 0], depends_on="/entry/no"),
            "which is not there",
        ),
        (
            put(
                f"{_DETECTOR}/transformations/distance",
                3.0,
                vector=[0, 1, 0],
                transformation_type="rotation",
                depends_on=".",
            ),
            "is turned by 3",
        ),
        (
            put(
                f"{_DETECTOR}/transformations/distance",
                3.0,
                vector=[0, 1, 0],
                depends_on="/entry/instrument/detector/transformations/distance",
            ),
            "depends on more than 16 axes",
        ),
    ],
)
def test_modules_that_lie_nowhere_are_not_taken(tmp_path: Path, change: Callable[[h5py.File], None], says: str) -> None:
    found = facts_of(foreign(tmp_path / "f.h5", change))
    assert found.modules == ()
    assert any(says in note for note in found.notes), found.notes
    assert found.mask is not None


@pytest.mark.parametrize(
    "mask",
    [
        np.zeros((3, 4), np.uint32),
        np.full((ROWS, COLUMNS), 1 << 40, np.uint64),
        np.ones((ROWS, COLUMNS), np.float32),
    ],
)
def test_a_mask_that_does_not_fit_is_not_taken(tmp_path: Path, mask: Any) -> None:
    found = facts_of(foreign(tmp_path / "f.h5", put(f"{_DETECTOR}/pixel_mask", mask)))
    assert found.mask is None
    assert any("pixel_mask" in note for note in found.notes)


def test_a_file_of_another_kind_says_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "raw.npy", np.zeros(3))
    assert facts_of(tmp_path / "raw.npy") == SourceFacts()
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["images"] = np.zeros((1, 2, 3))
    assert facts_of(tmp_path / "plain.h5") == SourceFacts()


def test_a_damaged_file_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"\xff" * 400)
    found = facts_of(tmp_path / "bad.h5")
    assert len(found.notes) == 1
    assert "cannot be read" in found.notes[0]


def test_what_lies_out_of_its_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    foreign(tmp_path / "secret.h5")

    def lead_out(file: h5py.File) -> None:
        del file["entry/sample"]
        file["entry/sample"] = h5py.ExternalLink("../secret.h5", "/entry/sample")

    found = facts_of(foreign(tmp_path / "in" / "f.h5", lead_out))
    assert "sample" not in found.texts
    assert found.notes
