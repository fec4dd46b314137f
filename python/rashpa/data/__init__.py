# SPDX-License-Identifier: Apache-2.0
"""What is read and drawn: runs stored by the `hdf5` sink, and packets as text."""
