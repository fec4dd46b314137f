# SPDX-License-Identifier: Apache-2.0
"""Holds the commands that read and write files."""
