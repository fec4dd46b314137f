# SPDX-License-Identifier: Apache-2.0
"""Passes requests and runs from one process to another: journal, owner, stop, pause, limits, join."""
