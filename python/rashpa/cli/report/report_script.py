# SPDX-License-Identifier: Apache-2.0
"""Makes the script of a report: compressed BokehJS and the plots, which the browser unpacks and draws. The page loads nothing from the network."""

import base64
import functools
import gzip
from typing import Any

from bokeh.embed import components
from bokeh.resources import Resources

_LEVEL = 9
_NEEDS = "Curves that move need a browser of 2023 or later; the rest does not."


@functools.cache
def library() -> str:
    """Return compressed BokehJS as base64. The first call reads and compresses it."""
    scripts = Resources(mode="inline", components=["bokeh"]).js_raw  # plots need neither widgets nor tables
    return base64.b64encode(gzip.compress("\n".join(scripts).encode(), _LEVEL, mtime=0)).decode()


def drawn(plots: list[Any]) -> tuple[str, list[str]]:
    """Return the script, and for each plot the HTML of its place in the page."""
    if not plots:
        return "", []
    draw, places = components(plots, wrap_script=False)
    draw = draw.replace("</script", r"<\/script")
    script = f"""<noscript><p>{_NEEDS}</p></noscript>
<script id="bokeh" type="text/plain">{library()}</script>
<script>
(async () => {{
  try {{
    const packed = Uint8Array.from(atob(document.getElementById("bokeh").textContent), (c) => c.charCodeAt(0));
    const text = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    const library = document.createElement("script");
    library.textContent = await text;
    document.head.append(library);
  }} catch (error) {{
    const said = document.createElement("p");
    said.textContent = "{_NEEDS}";
    document.querySelector("h1").after(said);
    return;
  }}
{draw}
  for (const place of document.querySelectorAll(".plot")) place.classList.add("drawn");
}})();
</script>"""
    return script, [str(place) for place in places]
