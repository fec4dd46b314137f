# SPDX-License-Identifier: Apache-2.0
"""Runs a node: one process that owns a native engine and obeys telegrams over HTTP."""
