# SPDX-License-Identifier: Apache-2.0
"""Holds the commands that measure performance and check conformance."""
