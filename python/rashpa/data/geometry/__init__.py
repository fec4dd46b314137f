# SPDX-License-Identifier: Apache-2.0
"""Describes the places of pixels, in images and in the laboratory."""
