# SPDX-License-Identifier: Apache-2.0
"""Defines the style of the page: colours that everybody can distinguish (Okabe and Ito), and no meaning by colour alone."""

COLOURS = {
    "accepted": "#0072b2",
    "vetoed": "#e69f00",
    "errored": "#d55e00",
    "complete": "#009e73",
    "partial": "#f0e442",
    "missing": "#cc79a7",
    "open": "#e5e8eb",
}
HATCHES = {"vetoed": "right_diagonal_line", "errored": "cross", "partial": "dot", "missing": "diagonal_cross"}
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("solid", "dashed", "dotted", "dotdash", "dashdot", (8, 3, 1, 3))
ABSENT_COLOURS = {"masked": "#8a9099", "saturated": "#cc33cc", "lost": "#d55e00", "not written": "#5b7083"}
"""Pixels without a value, by the reason that a node gives (`rashpa.data.figures.view_bytes`)."""
MARKED = ABSENT_COLOURS["masked"]
OVER = "#ff2a6d"  # overlays of an image; on every map

TABLES = """
:host { font-size: 13px; color: var(--ink); }
.bad { color: var(--bad); font-weight: 600; } .warn { color: var(--warn); font-weight: 600; } p { margin: 2px 0; }
"""
"""The style of texts inside of Bokeh's own parts, which take the page's colours."""
BUTTONS = """
.bk-btn.bk-btn-default, .bk-btn.bk-btn-default[disabled] { background: var(--button); color: var(--ink); border-color: var(--line); }
.bk-btn.bk-btn-default[disabled] { color: var(--quiet); border-style: dashed; opacity: 1; }
.bk-btn.bk-btn-danger { background: var(--bad); color: var(--paper); border-color: var(--bad); }
.bk-btn { padding: 4px 10px; font-size: 13px; }
.bk-btn:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
"""
