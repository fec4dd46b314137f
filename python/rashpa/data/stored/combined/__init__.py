# SPDX-License-Identifier: Apache-2.0
"""Stored runs of several files that one leading file puts together."""
