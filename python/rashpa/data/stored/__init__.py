# SPDX-License-Identifier: Apache-2.0
"""Reads stored runs: images, lists, tables, and the files' description of the experiment."""
