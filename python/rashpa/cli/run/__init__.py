# SPDX-License-Identifier: Apache-2.0
"""Holds the commands that begin, steer and follow runs."""
