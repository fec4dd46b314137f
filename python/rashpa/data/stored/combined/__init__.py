# SPDX-License-Identifier: Apache-2.0
"""Combines stored runs of several files into one file that links to them."""
