# SPDX-License-Identifier: Apache-2.0
"""Reads run files: their sections, the allowed values, and their faults."""
