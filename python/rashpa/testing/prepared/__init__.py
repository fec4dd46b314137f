# SPDX-License-Identifier: Apache-2.0
"""Processes that have imported rashpa, from which tests fork its commands."""
