# SPDX-License-Identifier: Apache-2.0
"""Holds the command that shows the plan of a run."""
