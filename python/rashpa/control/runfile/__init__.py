# SPDX-License-Identifier: Apache-2.0
"""Reads run files: defines their tables and allowed values, and reports their faults."""
