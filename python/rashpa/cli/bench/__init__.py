# SPDX-License-Identifier: Apache-2.0
"""Holds the commands that measure and judge."""
