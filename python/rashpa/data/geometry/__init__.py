# SPDX-License-Identifier: Apache-2.0
"""Describes where pixels lie, in images and in the laboratory."""
