# SPDX-License-Identifier: Apache-2.0
"""Compares this machine with the demands of a run, and names the hop at which the data of a run stop."""
