# SPDX-License-Identifier: Apache-2.0
"""Changes the settings of the next run on the page."""
