# SPDX-License-Identifier: Apache-2.0
"""Holds the checks and answers that the page's addresses share."""
