# SPDX-License-Identifier: Apache-2.0
"""Reading and drawing of data: runs stored by the `hdf5` sink, and packets as text."""
