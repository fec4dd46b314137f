# SPDX-License-Identifier: Apache-2.0
"""Stacks that begin by the last words of their source: the keys that a run file needs for them."""

from pathlib import Path

import pytest

from rashpa.control.plan.checks.word_trigger_check import word_trigger_problems
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError

KERNELS = (
    '[[buffer.kernel]]\nname = "jungfrau"\n[[buffer.kernel]]\nname = "bragg_count"\nthreshold = 15\nmin_pixels = 40\n'
)
RUN = (
    '[run]\nname = "r"\nframes = 1000\n[detector]\nwidth = 1024\nheight = 512\nenergy_kev = 12.4\nrate_hz = 100.0\n'
    '[dataset]\nkind = "jungfrau"\nmodules = 1\nframes = 4\n[link]\nkind = "pcie"\nflow = "credits"\n[link.pcie]\nverify = "off"\n'
    f'[[buffer]]\nname = "full"\nunit = "cuda"\ntrigger = "word"\nstack = 4\nslots = 16\n{KERNELS}[[buffer.sink]]\nkind = "null"\n'
)


def load(tmp_path: Path, old: str = "", new: str = "") -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN.replace(old, new, 1) if old else RUN)
    load_plan(path)


def test_a_pipeline_that_keeps_nothing_begins_by_words(tmp_path: Path) -> None:
    load(tmp_path)
    assert word_trigger_problems.__module__.endswith("word_trigger_check")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('[link]\nkind = "pcie"', '[link]\nkind = "roce"', r"link roce writes no word that a GPU can watch"),
        ('verify = "off"', 'verify = "sampled"', r"the host compares lines \(link.pcie.verify\)"),
        ('flow = "credits"', 'flow = "paced"', "a source that is paced may write over images"),
        ("slots = 16", "slots = 1028", "a ring of 257 stacks; 256 or fewer"),
        (
            'name = "jungfrau"\n[[',
            'name = "jungfrau"\ntrack = "empty"\n[[',
            "jungfrau keeps something for later images",
        ),
        ("[[buffer.kernel]]", '[[buffer.kernel]]\nname = "checksum"\n[[buffer.kernel]]', "checksum compares sums"),
    ],
)
def test_what_needs_the_host_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(RunFileError, match=r"buffer\[0\].trigger: word, .*" + says):
        load(tmp_path, old, new)


VERBS = (
    RUN.replace('kind = "pcie"', 'kind = "verbs"')
    .replace("[link.pcie]", "[link.verbs]")
    .replace('verify = "off"', 'verify = "off"\ntransport = "rc"')
)


def test_verbs_begins_by_words_too(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(VERBS)
    load_plan(path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('transport = "rc"', 'transport = "uc"', "transport uc loses lines that nobody misses"),
        ('verify = "off"', 'verify = "all"', r"the host compares lines \(link.verbs.verify\)"),
        ('verify = "off"', 'verify = "off"\noperation = "read"', "a source whose images are read writes no words"),
        (
            '[link]\nkind = "verbs"',
            '[link.roce]\ntransport = "rc"\n[link]\nkind = "verbs"\nsource = "roce"',
            "a source of link roce writes no words behind its images",
        ),
    ],
)
def test_verbs_without_proof_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "run.toml"
    assert old in VERBS
    path.write_text(VERBS.replace(old, new, 1))
    with pytest.raises(RunFileError, match=r"buffer\[0\].trigger: word, .*" + says):
        load_plan(path)


@pytest.mark.parametrize("share", ["stacks", "rows"])
def test_several_devices_do_not_begin_by_words(tmp_path: Path, share: str) -> None:
    with pytest.raises(RunFileError, match=r"trigger = \"graph\""):
        load(tmp_path, 'trigger = "word"', f'trigger = "word"\ndevices = [0, 1]\nshare = "{share}"')
