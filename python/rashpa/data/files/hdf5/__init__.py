# SPDX-License-Identifier: Apache-2.0
"""Reads foreign HDF5 files. Determines for each array which rows exist, where their bytes are, and whether they may be read
(docs/decisions/0112-hdf5-follows-nothing-by-itself.md)."""
