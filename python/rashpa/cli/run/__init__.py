# SPDX-License-Identifier: Apache-2.0
"""Holds the commands that start, control and follow runs."""
