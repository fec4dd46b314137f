# SPDX-License-Identifier: Apache-2.0
"""Runs that have ended."""
