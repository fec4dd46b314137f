# SPDX-License-Identifier: Apache-2.0
"""Changes links of the documentation site to repository files that are no pages: they lead to the repository, and the files must exist."""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]
RANK_OF_RECORDS = 0.2
"""The rank of a decision record in a search, beside 1 of a page: readers look for the page, and it leads to the record."""
_LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:)([^)#\s]+)(#[^)\s]*)?\)")


_RECORD = re.compile(r"^- \[(\d{4})\]\((\S+\.md)\) (.+)$", re.MULTILINE)
_CONTINUED = re.compile(r"\n {2}(?=\S)")  # lines of an item behind its first


def decisions() -> list[dict[str, Any]]:
    """Return the records by topic, in the order of docs/decisions/README.md; records that it does not list come last."""
    folder = ROOT / "docs" / "decisions"
    _, *parts = _CONTINUED.sub(" ", (folder / "README.md").read_text(encoding="utf-8")).split("\n## ")
    topics: dict[str, list[tuple[str, str]]] = {
        part.partition("\n")[0]: [(f"{number} {title}", name) for number, name, title in _RECORD.findall(part)]
        for part in parts
    }
    listed = {name for records in topics.values() for _, name in records}
    files = sorted(path.name for path in folder.glob("[0-9]*.md") if not path.name.startswith("0000"))
    topics["Newest"] = [(name.removesuffix(".md").replace("-", " "), name) for name in files if name not in listed]
    entries: list[dict[str, Any]] = [{"Decisions by topic": "decisions/README.md"}]
    for topic, records in topics.items():
        if records:
            entries.append({topic: [{title.replace("`", ""): f"decisions/{name}"} for title, name in records]})
    return entries


def on_config(config: Any, **_: Any) -> Any:
    """Append the decision records to the navigation. MkDocs calls this once."""
    config["nav"].append({"Decisions": decisions()})
    return config


def on_post_build(config: Any, **_: Any) -> None:
    """Write the list of versions for the menu of a site that stands alone: only its own version. MkDocs calls this once.

    Sites of several versions share one list in the folder above instead (tools/release/docs_versions.py). The menu reads `../versions.json` and leads
    to `../VERSION/`; at the root of a server, both stay inside the site.
    """
    project = re.search(
        r"^project\(rashpa VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    if project is None:
        raise PluginError("CMakeLists.txt: no version of rashpa; write project(rashpa VERSION …)")
    entries = [{"version": ".", "title": project[1], "aliases": ["latest"]}]
    (Path(config["site_dir"]) / "versions.json").write_text(json.dumps(entries) + "\n", encoding="utf-8")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the changed text of a page. MkDocs calls this for each page."""
    docs = ROOT / "docs"
    if page.file.src_uri.startswith("decisions/"):
        page.meta.setdefault("search", {"boost": RANK_OF_RECORDS})
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
