# SPDX-License-Identifier: Apache-2.0
"""Holds the commands that start nodes, or send requests to one."""
