# SPDX-License-Identifier: Apache-2.0
"""Without the packages of a control system rashpa works, and errors name the command that installs them."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.whole

WITHOUT = """
import sys
sys.modules["{package}"] = None
import rashpa
import rashpa.beamline
import rashpa.cli.main
from rashpa.data.base.extras import MissingExtraError
try:
    import rashpa.beamline.{module}
except MissingExtraError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [("ophyd_async.core", "bluesky", "bluesky"), ("tango", "tango", "tango"), ("p4p.nt", "epics", "epics")],
)
def test_a_missing_package_is_named_with_the_command_that_brings_it(package: str, module: str, extra: str) -> None:
    text = WITHOUT.format(package=package, module=module)
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True).stdout
    assert f"`pip install 'rashpa[{extra}]'` brings" in said
