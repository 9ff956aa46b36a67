"""One HTML file of the page's data, its assets and a chart library: it opens from a folder,
without a network."""

import json
import zlib
from base64 import b64encode
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
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
        "data": pack(data),
        # A module, as the library's own names must not become the page's.
        "charts": chart_library(),
        "script": assets[".js"],
    }
    page = assets[".html"]
    for name, text in parts.items():
        before, after = page.split(f"<!-- {name} -->")
        page = before + text + after
    return page


@cache
def chart_library() -> str:
    """Return the chart library's JavaScript, which takes seconds to bundle."""
    return vl_convert.javascript_bundle().replace("</script", r"<\/script")


def pack(data: Mapping) -> str:
    """Encode data as JSON, by zlib, in base64: it is shorter, and no text of it can end the script
    that holds it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode(), 9)).decode()
