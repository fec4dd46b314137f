# SPDX-License-Identifier: Apache-2.0
"""The modules that the page names lie beside the run file."""

import shutil
import subprocess

shutil.copy("examples/kernels/hits/hits.py", ".")
c = "examples/kernels/local_maxima/local_maxima.c"
subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-Isrc/rashpa/kernel/outside", c, "-o", "local_maxima.so"], check=True)
