# SPDX-License-Identifier: Apache-2.0
"""Reads a run file: limits of its text, former places of keys, texts for refused values."""
