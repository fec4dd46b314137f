# SPDX-License-Identifier: Apache-2.0
"""Runs processes that have imported rashpa, from which tests fork its commands."""
