# SPDX-License-Identifier: Apache-2.0
"""Holds the commands that connect a run with other systems."""
