# SPDX-License-Identifier: Apache-2.0
"""Serves `rashpa dashboard`: one page on the manager's machine that shows a run while it goes on."""
