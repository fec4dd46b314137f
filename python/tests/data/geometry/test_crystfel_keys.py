# SPDX-License-Identifier: Apache-2.0
"""Keys of CrystFEL's geometry files are used, ignored, or refused with line and reason."""

import pytest

from rashpa.data.geometry.crystfel_keys import (
    ValueFlag,
    check_masks,
    check_of_file,
    check_of_panel,
    check_one_image,
    flag_of,
    flag_trouble,
    is_of_file,
    number_of,
    saturation_trouble,
    whole_of,
)


@pytest.mark.parametrize(
    ("key", "value", "marks_none"),
    [
        ("flag_lessthan", 0, True),
        ("flag_lessthan", 1, False),
        ("flag_morethan", 100, True),
        ("flag_morethan", 99, False),
        ("flag_equal", 101, True),
        ("flag_equal", -1, True),
        ("flag_equal", 0, False),
        ("flag_equal", 100, False),
    ],
)
def test_a_flag_marks_counts_or_none_of_them(key: str, value: float, marks_none: bool) -> None:
    flag = ValueFlag(7, key, value)
    assert flag.marks_none((0, 100)) is marks_none
    assert (flag_trouble([flag], (0, 100)) == "") is marks_none


def test_a_flag_is_named_with_its_line() -> None:
    flag = flag_of("flag_morethan", (12, "5000"))
    assert flag == ValueFlag(12, "flag_morethan", 5000.0)
    assert flag_trouble([flag], (0, 65534)).startswith("line 12: flag_morethan = 5000 makes pixels bad by their value")
    assert flag_of("max_adu", (12, "5000")) is None


def test_a_limit_of_saturation_below_a_count_is_named() -> None:
    panels = [{}, {"max_adu": (3, "70000")}, {"max_adu": (4, "60000")}]
    assert saturation_trouble(panels, (0, 65534)).startswith(
        "line 4: max_adu = 60000, and here pixels up to 65534 count"
    )
    assert saturation_trouble(panels[:2], (0, 65534)) == ""


@pytest.mark.parametrize(
    ("name", "of_file"), [("group_a", True), ("clen", True), ("wavelength", True), ("photon_energy_scale", True), ("res", False), ("min_fs", False)]
)  # fmt: skip
def test_keys_of_the_whole_file_are_told_from_defaults_of_panels(name: str, of_file: bool) -> None:
    assert is_of_file(name) is of_file


@pytest.mark.parametrize("name", ["corner_x", "data", "dim0", "mask3_goodbits", "mask_file", "peak_sep", "flag_equal"])
def test_known_keys_of_panels_pass(name: str) -> None:
    check_of_panel(name, (1, "1"))


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("clen", "0.1", "line 5: clen is of the whole file, not of a panel; give the panel a coffset"),
        ("rail_x", "1", "line 5: rail_x moves panels with the camera length"),
        ("max_adu", "0", "line 5: max_adu: 0 is not above 0; leave it out"),
        ("adu_per_eV", "much", 'line 5: adu_per_eV: "much" is no number'),
        ("peak_sep", "inf", "line 5: peak_sep: inf is no place"),
        ("colour" * 20, "1", f"line 5: the key {('colour' * 20)[:40]} is not known"),
    ],
)
def test_a_key_of_a_panel_is_refused_with_its_line(name: str, value: str, says: str) -> None:
    with pytest.raises(ValueError) as refused:
        check_of_panel(name, (5, value))
    assert str(refused.value).startswith(says)


def test_keys_of_the_file_are_checked() -> None:
    check_of_file("clen", (1, "0.1"))
    with pytest.raises(ValueError, match=r"^line 2: photon_energy_scale scales photon_energy"):
        check_of_file("photon_energy_scale", (2, "1"))
    with pytest.raises(ValueError, match=r'^line 2: bandwidth: "wide" is no number'):
        check_of_file("bandwidth", (2, "wide"))


@pytest.mark.parametrize(
    "masks",
    [
        {"mask": (1, "/entry/instrument/detector/pixel_mask"), "mask_bad": (2, "0xff"), "mask_good": (3, "0")},
        {"mask1_data": (1, "/entry/pixel_mask"), "mask1_badbits": (2, "65535")},
        {"mask_bad": (2, "1")},
    ],
)
def test_masks_of_the_images_themselves_pass(masks: dict[str, tuple[int, str]]) -> None:
    check_masks(masks)


@pytest.mark.parametrize(
    ("masks", "says"),
    [
        ({"mask_file": (4, "other.h5")}, "line 4: mask_file names a further file"),
        ({"mask": (4, "/entry/other")}, "line 4: mask names /entry/other, which is not the pixel_mask"),
        ({"mask": (4, "/pixel_mask"), "mask_good": (5, "0x1")}, "line 5: mask_good picks pixels by bits that must be there"),
        ({"mask0_data": (4, "/pixel_mask"), "mask0_badbits": (5, "0x0f")}, "line 5: mask0_badbits picks some bits"),
        ({"mask": (4, "/pixel_mask"), "mask_bad": (5, "all")}, 'line 5: mask_bad is "all", which is no number of bits'),
    ],
)  # fmt: skip
def test_another_mask_is_refused_with_its_line(masks: dict[str, tuple[int, str]], says: str) -> None:
    with pytest.raises(ValueError) as refused:
        check_masks(masks)
    assert str(refused.value).startswith(says)


def test_numbers_and_places_are_read_exactly() -> None:
    assert number_of("res", (1, " 13333.3 ")) == 13333.3
    assert whole_of("min_fs", (1, "1023.0")) == 1023
    for text in ("0.5", "-1", "1048576"):
        with pytest.raises(ValueError, match=f"^line 9: min_fs: {text} is no number of a pixel$"):
            whole_of("min_fs", (9, text))


def test_panels_of_several_datasets_are_refused() -> None:
    check_one_image([("a", {"data": (1, "/d")}), ("b", {"data": (2, "/d")}), ("c", {})])
    with pytest.raises(ValueError, match=r"^line 2: data: the panel b lies in /e, those before it elsewhere"):
        check_one_image([("a", {"data": (1, "/d")}), ("b", {"data": (2, "/e")})])
    with pytest.raises(ValueError, match=r"^line 2: data: the panel b lies in /e"):
        check_one_image([("a", {}), ("b", {"data": (2, "/e")})])
