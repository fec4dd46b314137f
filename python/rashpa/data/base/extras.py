# SPDX-License-Identifier: Apache-2.0
"""Words for libraries that only some users need, and that an extra of the package brings."""

WITHOUT_FABIO = "images of this kind are read by fabio, which is not installed; pip install 'rashpa[images]'"
