# SPDX-License-Identifier: Apache-2.0
"""Finds the files that belong to one run."""
