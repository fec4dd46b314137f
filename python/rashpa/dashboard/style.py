# SPDX-License-Identifier: Apache-2.0
"""The look of the page: colours that everybody tells apart (Okabe and Ito), and never colour alone."""

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
MARKED = "#8a9099"  # pixels without a value
OVER = "#ff2a6d"  # overlays of an image; on every map

PLAIN_TABLES = """
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; color: #1f2933; }
th { text-align: left; font-weight: 600; color: #52606d; padding: 2px 14px 2px 0; white-space: nowrap; }
td { padding: 2px 14px 2px 0; white-space: nowrap; vertical-align: top; }
table.books td, td.number { text-align: right; }
table.books th[scope=col]:not(:first-child) { text-align: right; }
tbody tr { border-top: 1px solid #e4e7eb; }
.bad { color: #a61b1b; font-weight: 600; }
.warn { color: #8a4b00; font-weight: 600; }
.quiet { color: #616e7c; margin: 4px 0; }
p { margin: 6px 0; font-size: 13px; }
a { color: #0b5394; }
meter { width: 110px; }
.state { font-size: 15px; font-weight: 600; }
progress { width: 100%; height: 10px; }
"""

TABLES = ":host { width: 100%; } .bk-clearfix { width: 100%; overflow-x: auto; }" + PLAIN_TABLES
"""The style of texts inside of Bokeh's own parts."""
