"""One HTML file of the page's data, its assets and a chart library: it opens from a folder,
without a network."""

import json
from collections import defaultdict
from collections.abc import Mapping
from html import escape
from pathlib import Path

import vl_convert

ASSETS = Path(__file__).with_name("assets")


def render(data: Mapping) -> str:
    """Write the page of `data`, made by `data.page`. The same data give the same bytes."""
    assets: dict[str, str] = defaultdict(str)
    for file in sorted(ASSETS.iterdir()):
        assets[file.suffix] += file.read_text(encoding="utf-8")
    parts = {
        "title": escape(data["title"]),
        "style": assets[".css"],
        "data": as_script(data),
        # A module, as the library's own names must not become the page's.
        "charts": vl_convert.javascript_bundle().replace("</script", r"<\/script"),
        "script": assets[".js"],
    }
    page = assets[".html"]
    for name, text in parts.items():
        before, after = page.split(f"<!-- {name} -->")
        page = before + text + after
    return page


def as_script(data: Mapping) -> str:
    """Write JSON whose texts cannot end the script that holds it: `<` is written as an escape."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")
