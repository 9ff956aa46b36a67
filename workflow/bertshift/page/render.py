"""One HTML file of the page's data, its assets and a chart library: it opens from a folder, and asks nothing of a network."""

import json
from collections.abc import Mapping
from html import escape

import vl_convert

ASSETS = ("page.html", "page.css", "page.js")


def render(data: Mapping, assets: Mapping[str, str]) -> str:
    """`data` as of `data.page`; `assets` are the texts of ASSETS by name. The same data give the same bytes."""
    parts = {
        "title": escape(data["title"]),
        "style": assets["page.css"],
        "data": as_script(data),
        # A module, as the library's own names must not become the page's.
        "charts": vl_convert.javascript_bundle().replace("</script", r"<\/script"),
        "script": assets["page.js"],
    }
    page = assets["page.html"]
    for name, text in parts.items():
        before, after = page.split(f"<!-- {name} -->")
        page = before + text + after
    return page


def as_script(data: Mapping) -> str:
    """JSON that no text in it can end: `<` is written as an escape."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")
