# SPDX-License-Identifier: Apache-2.0
"""Decodes packets as they are on the wire."""
