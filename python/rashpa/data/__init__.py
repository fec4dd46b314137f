# SPDX-License-Identifier: Apache-2.0
"""Reads and draws data: runs stored by the `hdf5` sink, and packets as text."""
