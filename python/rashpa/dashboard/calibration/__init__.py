# SPDX-License-Identifier: Apache-2.0
"""The calibration of the run on the page."""
