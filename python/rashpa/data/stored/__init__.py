# SPDX-License-Identifier: Apache-2.0
"""Reads stored runs: images, lists, tables, and descriptions of the experiment."""
