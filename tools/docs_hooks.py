# SPDX-License-Identifier: Apache-2.0
"""What the documentation site does with links to files of the repository that are no pages: they are named, and must exist."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:)([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs calls it with the text of each page."""
    docs = ROOT / "docs"
    folder = (docs / page.file.src_uri).parent

    def named(link: re.Match[str]) -> str:
        text, target = link[1], link[2]
        path = (folder / target).resolve()
        if path.is_relative_to(docs):
            return link[0]
        if not path.exists() or not path.is_relative_to(ROOT):
            raise PluginError(f"{page.file.src_uri}: {target} is not in the repository")
        place = f"`{path.relative_to(ROOT)}`"
        return place if text.strip("`") == place.strip("`") else f"{text} ({place})"

    return _LINK.sub(named, markdown)
