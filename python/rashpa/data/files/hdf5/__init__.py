# SPDX-License-Identifier: Apache-2.0
"""HDF5 files that may come from anywhere. Of each array: which rows exist, where do their bytes lie, may they be read (docs/decisions/0112-hdf5-follows-nothing-by-itself.md)."""
