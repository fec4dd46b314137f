# SPDX-License-Identifier: Apache-2.0
"""Makes texts for optional libraries, which an extra of the package installs."""

WITHOUT_FABIO = "images of this kind are read by fabio, which is not installed; pip install 'rashpa[images]'"
