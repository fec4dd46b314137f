# SPDX-License-Identifier: Apache-2.0
"""Shows the calibration of the run on the page."""
