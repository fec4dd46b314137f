# SPDX-License-Identifier: Apache-2.0
"""Writes the report of a run."""
