from html.parser import HTMLParser
from urllib.parse import unquote

import pandas as pd
import pytest

from bertshift import files
from bertshift.papers import catalogue, gallery, room


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.links, self.ids, self.images, self.tags = [], [], set(), [], set()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.add(tag)
        self.ids.add(attributes.get("id"))
        self.links += [attributes[key] for key in ("href", "src") if key in attributes]
        if tag == "img":
            self.images.append(attributes)
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def through_disk(folder, table):
    files.write_tsv(folder / "table.tsv", table)
    return files.read_tsv(folder / "table.tsv")


@pytest.fixture(scope="module")
def drawn(drawn_at, made, published):
    """The tables of all figures, and their claims."""
    tables = {name: table for name, (_, table, _) in drawn_at(4, 4).items()}
    inputs = made(4, 4)
    return tables, pd.concat(
        room.decide(name, inputs[name], published[name.split("/")[0]]) for name in inputs
    )


def page(drawn, published, folder, caption="What it shows.\n\nWhat made it.", **changes):
    figures, rows = drawn
    text = gallery.render(
        {name: through_disk(folder, table) for name, table in figures.items()},
        through_disk(folder, rows.assign(**changes)),
        published,
        dict.fromkeys(figures, caption),
    )
    parsed = Page()
    parsed.feed(text)
    assert not parsed.open
    return text, parsed, rows


def test_links_are_relative_and_name_every_output(drawn, published, tmp_path):
    text, parsed, rows = page(drawn, published, tmp_path)
    outputs = {f"{name}.{kind}" for name in catalogue.FIGURES for kind in ("png", "pdf", "tsv", "txt")}
    links = set(map(unquote, parsed.links))
    assert {link for link in links if not link.startswith("#")} == outputs
    assert {link[1:] for link in links if link.startswith("#")} <= parsed.ids
    assert not parsed.tags & {"script", "link", "iframe"} and "http" not in text
    assert all(image["alt"] for image in parsed.images)
    for verdict, count in rows["verdict"].value_counts().items():
        assert text.count(f" {verdict}</span> <span") == count
    titles = ("Table 1", "Table MRPC", "Similarity", "Own or inherited", "Appendix A")
    assert all(f"<h3>{title}</h3>" in text for title in titles)
    assert "Scale: demo" in text and "reproduces no paper" in text


def test_text_from_tables_cannot_become_markup(drawn, published, tmp_path):
    bad = "<img src=x onerror=alert(1)> & \"'"
    text, parsed, _ = page(
        drawn, published, tmp_path, caption=bad, reason=bad, statement=bad, published_value=bad
    )
    assert "<img src=x" not in text and "&lt;img src=x onerror=alert(1)&gt; &amp;" in text
    assert len(parsed.images) == len(catalogue.FIGURES)
