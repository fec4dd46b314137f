# SPDX-License-Identifier: Apache-2.0
"""`rashpa dashboard`: one page on the manager's machine, which shows a run while it lasts."""
