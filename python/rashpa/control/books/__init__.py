# SPDX-License-Identifier: Apache-2.0
"""Accounts for every image of a run."""
