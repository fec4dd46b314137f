# SPDX-License-Identifier: Apache-2.0
"""Checks and answers that addresses of the page share."""
