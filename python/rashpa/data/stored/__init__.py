# SPDX-License-Identifier: Apache-2.0
"""Reads stored runs: images, lists, tables, and what the files say of the experiment."""
