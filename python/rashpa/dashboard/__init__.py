# SPDX-License-Identifier: Apache-2.0
"""One page on the manager's machine that shows a run while it lasts: `rashpa dashboard`."""
