# SPDX-License-Identifier: Apache-2.0
"""The settings of the next run, which a person changes on the page."""
