"""The page in a real browser: from a folder, without a network."""

import re
import shutil

import pytest
from made_encoders import TEXTS, model_of, tokenizer_of
from made_papers import tables_of

import bertshift
from bertshift.figures import style
from bertshift.files import write_text
from bertshift.page import compared
from bertshift.page.render import render
from bertshift.papers import by_name

INSTALL = "no Chromium: apt-get install -y --no-install-recommends chromium"


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        pytest.skip(INSTALL)
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r requirements.txt")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(made_page):
    write_text(made_page.folder / "index.html", made_page.html())
    return (made_page.folder / "index.html").as_uri()


@pytest.fixture
def opened(browser, address):
    """(view, width, dark) -> the page; after the test: nothing was asked of a network, and no error was shown."""
    pages, asked, errors = [], [], []

    def visit(view="#/", width=1280, dark=False):
        context = browser.new_context(
            viewport={"width": width, "height": 850}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(15_000)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address + view)
        page.wait_for_selector("main h1")
        pages.append(context)
        return page

    yield visit
    for context in pages:
        context.close()
    folder = address.rpartition("/")[0]
    assert not [url for url in asked if not url.startswith((folder, "data:", "blob:"))]
    assert not errors


def cards(page):
    return page.locator(".card h3").all_inner_texts()


def test_filters_and_search_keep_what_fits_and_stand_in_the_address(opened, made_page):
    page, claims = opened(), made_page.claims
    assert len(cards(page)) == len(made_page.figures)
    page.get_by_role("combobox", name="Verdict").select_option("fails")
    failing = {f"{one.paper}/{one.figure}" for one in claims[claims["claim_verdict"] == "fails"].itertuples()}
    assert failing and len(cards(page)) == len(failing)
    page.get_by_role("button", name="Clear filters").click()
    assert len(cards(page)) == len(made_page.figures) and page.url.endswith("#/")
    assert not page.get_by_role("button", name="Clear filters").count()
    page.get_by_label("Paper").select_option("hao2020")
    assert set(cards(page)) == {"Change of hidden states by layer", "Hidden states of two seeds"}
    page.get_by_label("Search").fill("seeds")
    assert cards(page) == ["Hidden states of two seeds"]
    assert "p=hao2020" in page.url and "q=seeds" in page.url
    page.reload()
    assert cards(page) == ["Hidden states of two seeds"]
    page.get_by_label("Search").fill("")
    page.get_by_label("Paper").select_option("")
    page.get_by_label("Task").select_option("qnli")
    assert cards(page) and "Change of hidden states by layer" not in cards(page)


def test_a_count_of_verdicts_leads_to_these_claims(opened, made_page):
    page, claims = opened(), made_page.claims
    page.get_by_role("link", name=re.compile("hold$")).click()
    page.wait_for_url(re.compile("#/claims"))
    rows = page.locator("table.claims tbody tr")
    assert rows.count() == (claims["claim_verdict"] == "holds").sum() > 0
    page.get_by_role("button", name="Clear filters").click()
    assert rows.count() == len(claims)


def test_a_table_of_scores_has_numbers_to_explore(opened, made_page):
    page = opened("#/figure/kovaleva2019/figure2")
    table = made_page.table("kovaleva2019/figure2")
    rows = page.locator(".listed tbody tr")
    assert rows.count() == len(table) and page.locator(".listed th", has_text="Published").count() == 1
    page.get_by_label("Panel of the figure").select_option("MRPC")
    assert rows.count() == (table["panel"] == "mrpc").sum()


def test_every_figure_opens_with_its_files_and_what_made_it(opened, made_page):
    page = opened()
    for entry, table, _ in made_page.figures:
        page.goto(page.url.partition("#")[0] + f"#/figure/{entry['name']}")
        page.wait_for_selector(".picture img")
        links = page.eval_on_selector_all("main a[href]", "all => all.map(one => one.getAttribute('href'))")
        files = {link for link in links if not link.startswith("#")}
        assert files == {f"{entry['name']}.{ending}" for ending in ("png", "pdf", "tsv", "txt")}
        made = page.locator("dl").inner_text()
        assert (
            "4x128 BERT pretrained here on world" in made
            and f"snakemake results/figures/{entry['name']}.png" in made
        )
        drawn = (table["source"] == "ours").sum()
        assert f"{drawn} rows of ours" in made


def test_hover_tells_a_value_and_models_go_on_and_off(opened, made_page):
    page = opened("#/figure/hao2020/figure2")
    lines = page.locator(
        ".panel .chart path[aria-roledescription='line mark'], .panel .chart .mark-line path"
    )
    page.wait_for_selector(".panel .chart svg .mark-line path")
    before = lines.count()
    page.get_by_role("checkbox", name="MNLI@large", exact=True).uncheck()
    page.wait_for_function(
        "count => document.querySelectorAll('.panel .chart svg .mark-line path').length < count", arg=before
    )
    assert lines.count() == before - 2  # the curve and its null
    page.locator(".panel .chart svg .mark-symbol path").last.hover(force=True)
    tip = page.locator("#vg-tooltip-element")
    tip.wait_for()
    page.wait_for_function("document.getElementById('vg-tooltip-element').innerText.includes('Replicates')")
    value = re.search(r"Value:?\s+([\d.]+)", tip.inner_text())
    assert value and "Interval" in tip.inner_text()
    page.locator("summary", has_text="As a table").first.click()
    rows = page.locator(".panel details tbody tr")
    rows.first.wait_for()
    assert rows.count() == (3 * 2 + 2) * 4  # three models with their nulls, and noise of two kinds


def test_a_reader_switches_between_intervals_and_replicates(opened):
    page = opened("#/models?a=mnli&b=base")
    dots, bands = (page.locator(f".grid .chart svg .mark-{mark} path") for mark in ("symbol", "area"))
    page.wait_for_selector(".grid .chart svg .mark-symbol path")
    seen = {}
    for choice in ("replicates", "intervals"):
        page.get_by_label("Around a mean").select_option(choice)
        page.wait_for_selector(".grid .chart svg .mark-symbol path")
        page.wait_for_timeout(500)
        seen[choice] = dots.count(), bands.count()
    assert seen["replicates"][0] > seen["intervals"][0] and seen["replicates"][1] < seen["intervals"][1]


def test_published_curves_stand_beside_ours(opened):
    page = opened("#/figure/kovaleva2019/figure5")
    page.wait_for_selector(".maps svg")
    assert page.locator(".maps figcaption").all_inner_texts() == ["Ours", "Published"]
    assert "published" in page.locator(".panel .key").inner_text()


def test_two_models_show_measures_nulls_floors_and_heads(opened):
    page = opened("#/models")
    page.locator("select[name=a]").select_option("mnli@large")
    assert page.get_by_label("compared with").locator("option").all_inner_texts() == ["large"]
    titles = page.locator(".grid h3").all_inner_texts()
    assert "Hidden states, SVCCA distance" in titles
    panel = page.locator(".grid .panel", has_text="SVCCA")
    assert "dashed: MNLI@large" in panel.inner_text()
    panel.locator("summary").click()
    panel.locator("tbody tr").first.wait_for()
    assert {"null", "compared", "two seeds of MNLI@large"} <= set(
        panel.locator("tbody td:first-child").all_inner_texts()
    )
    page.locator("select[name=a]").select_option("mnli")
    assert "a=mnli&b=base" in page.url
    page.locator("h2", has_text="Heads").wait_for()


def test_two_models_open_with_what_is_known_best_and_name_what_is_drawn(opened, made_page):
    page = opened("#/models")
    most = max(made_page.data()["pairs"].values(), key=lambda pair: len(pair["measures"]))
    assert page.locator(".grid h3").count() >= len(most["measures"])
    key = page.locator("section .key").first
    page.wait_for_selector(".grid .chart svg .mark-symbol path")
    for choice, drawn in (("replicates", False), ("intervals", True)):
        page.get_by_label("Around a mean").select_option(choice)
        page.wait_for_selector(".grid .chart svg .mark-symbol path")
        assert ("interval" in key.inner_text()) == drawn and ("small dots" in key.inner_text()) != drawn


def test_two_equal_models_have_no_chart_of_rounding(opened, made_page):
    """A measure that is 0 in every layer is one sentence; the profile has each value in a table."""
    name, found = "mnli_vs_base", made_page.data()
    one = found["pairs"][name]["measures"]["js"]
    for rows in (one, *(one.get(key) or {"layers": []} for key in ("null", "noise"))):
        rows["layers"] = [[layer, 0.0, 0.0, 0.0, [0.0, 0.0]] for layer, *_ in rows["layers"]]
    write_text(
        made_page.folder / "equal.html",
        render(found | {"pairs": {name: {**found["pairs"][name], "measures": {"js": one}}}}),
    )
    page = opened()
    page.goto((made_page.folder / "equal.html").as_uri() + "#/models")
    assert "0 in every layer" in page.locator(".grid .panel").first.inner_text()
    page.locator("main summary").first.click()
    assert page.locator("main details").first.locator("tbody tr").count() == len(one["layers"])


def test_from_a_cell_to_its_heads_attention(opened):
    page = opened("#/models?a=mnli&b=base")
    heads = page.locator("section", has=page.locator("h2", has_text="Heads"))
    heads.scroll_into_view_if_needed()
    cell = heads.locator(".chart svg .mark-rect path").nth(5)
    cell.click()
    page.wait_for_url(re.compile("#/head"))
    assert page.locator("main h1").inner_text() == "Layer 2, head 2 of MNLI"
    page.wait_for_selector(".maps figure:nth-child(2) svg")
    assert page.locator(".maps figcaption").all_inner_texts() == ["Before: Base", "After: MNLI"]
    page.locator(".maps summary").nth(1).click()
    page.locator(".maps figure").nth(1).locator("tbody tr").first.wait_for()
    rows = page.locator(".maps figure").nth(1).locator("tbody tr").all_inner_texts()
    looked = [row.split("\t")[:2] for row in rows if row.endswith("0.80")]
    assert ["he", "was"] in looked and {to for _, to in looked} == {"was"}  # a text in brackets stays text
    assert any("<b>becoming</b>" in row for row in rows)


def test_arrow_keys_go_through_the_heads(opened):
    page = opened("#/head?m=mnli&l=1&h=1")
    page.locator(".maps").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('h1').innerText.includes('head 2')")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("document.querySelector('h1').innerText === 'Layer 2, head 2 of MNLI'")


def test_claims_are_sorted_and_lead_to_their_figures(opened, made_page):
    page, claims = opened("#/claims"), made_page.claims
    rows = page.locator("table.claims tbody tr")
    assert rows.count() == len(claims)
    assert "generated world" in page.locator("caption").inner_text()
    assert not re.search(r"(?<![\w.)])-[\d.]", " ".join(rows.all_inner_texts()))  # one minus sign
    page.get_by_role("button", name="Ours").click()
    first = rows.first.locator("td").nth(4).inner_text().replace("−", "-")
    assert float(first.split(" ")[0]) == pytest.approx(claims["ours"].min(), rel=0.01)
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Ours")
    page.get_by_role("button", name="holds", exact=False).or_(
        page.get_by_role("button", name="hold", exact=False)
    ).first.click()
    assert rows.count() == (claims["claim_verdict"] == "holds").sum()
    rows.first.get_by_role("link").click()
    page.wait_for_selector(".picture")


def test_all_of_it_works_by_keyboard(opened):
    page = opened()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skip to the content
    assert page.evaluate("document.activeElement.tagName") == "H1"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('card')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".picture")
    assert page.evaluate("document.activeElement.tagName") == "H1"  # a reader hears where they are
    term = page.locator("main .term").first
    term.focus()
    page.keyboard.press("Enter")
    assert page.locator("[popover]:popover-open").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("[popover]:popover-open").count() == 0


VIEWS = ["#/", "#/figure/kovaleva2019/figure5", "#/models?a=mnli&b=base", "#/head", "#/claims"]


@pytest.mark.parametrize("view", VIEWS)
def test_a_narrow_screen_is_not_wider_than_itself(opened, view):
    page = opened(view, width=390)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_narrow_screen_has_whole_names_of_measures(opened):
    page = opened("#/models?a=mnli&b=base", width=390)
    page.wait_for_selector(".chart svg .role-axis-label")
    words = "".join(
        page.locator(".chart svg").first.locator("text").all_text_contents()
    )  # without spaces between lines
    assert "…" not in words and "JSdivergence in nats" in words


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_no_serious_problem(opened, view, dark):
    assert not serious_problems(opened(view, dark=dark))


def serious_problems(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_timeout(500)
    return [
        (one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"])
        for one in axe.run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def test_print_leaves_the_controls_away(opened):
    page = opened("#/figure/kovaleva2019/figure5", dark=True)
    page.emulate_media(media="print")
    assert not page.locator("header#top").is_visible() and page.locator(".picture").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def beside(made_page, address):
    """The address of a page that shows two archives: `one`, and `other` with values twice as large and a verdict turned."""
    figures, archives = [], []
    for entry, table, caption in made_page.figures:
        other = table.assign(value=table["value"].mask(table["source"] == "ours", 2 * table["value"]))
        image = made_page.folder / f"{entry['name']}.png"
        for name in ("one", "other"):
            (made_page.folder / name / entry["name"]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(image, made_page.folder / name / f"{entry['name']}.png")
        figures.append(
            compared.figure(
                entry["name"], {"one": table, "other": other}, [caption] * 2, [image] * 2, entry["models"]
            )
        )
    for name in ("one", "other"):
        archives.append({"name": name, "scales": ["small"], "checkpoints": ["4x128 BERT"], "figures": 9})
    rows = made_page.claims.to_dict("records")
    claims = [{"paper": row["paper"], "agree": "agree", "sides": [row, row]} for row in rows]
    claims[0] |= {"agree": "opposite", "sides": [rows[0], rows[0] | {"verdict": "fails"}]}
    claims[1] |= {"agree": "in one archive alone", "sides": [rows[1], None]}
    page = compared.page(archives, figures, claims, made_page.published)
    write_text(made_page.folder / "compared.html", render(page))
    return address.replace("index.html", "compared.html")


def test_two_archives_have_a_line_each_in_every_panel(opened, beside):
    page = opened()
    page.goto(f"{beside}#/figure/hao2020/figure2")
    panels = page.locator(".grid .panel")
    page.wait_for_selector(".grid .panel .chart svg .mark-line path")
    noise = [f"MNLI@large, {words}" for words in style.NULL_WORDS.values()]
    models = ["MNLI@large", "RTE@large", "SST-2@large", "MRPC@large"]
    assert panels.locator("h3").all_inner_texts() == [*models, *noise]
    assert panels.first.locator(".mark-line path").count() == 4  # of each archive, with its null
    panels.first.locator("summary").click()
    rows = panels.first.locator("tbody tr")
    rows.first.wait_for()
    values = {}
    for name, what, layer, value, *_ in (row.split("\t") for row in rows.all_inner_texts()):
        if what == "mean":
            values.setdefault(name, {})[layer] = float(value)
    assert values["other"] == pytest.approx({layer: 2 * value for layer, value in values["one"].items()}, rel=1e-3)  # fmt: skip


@pytest.mark.parametrize(("other", "place"), [(4, "layer: 3"), (6, "share of the depth: 0.91666")])
def test_a_published_value_is_one_point_beside_two_archives(opened, beside, made_page, other, place):
    """The value of layer 11 of 12 stands at our layer 3 of 4, or beside models of other depths at its own."""
    name, tables, folder = "merchant2020/figure2", {}, made_page.folder
    for archive, layers in (("one", 4), ("other", other)):
        made = {path: table for path, table in tables_of("merchant2020", layers).items() if path.startswith("results/rsa/")}  # fmt: skip
        _, tables[archive], _ = by_name.draw(name, made, made_page.published["merchant2020"])
    figure = compared.figure(
        name, tables, [""] * 2, [folder / f"{name}.png"] * 2, ["mnli", "squad", "dep"], 12
    )
    archives = [{"name": one, "scales": ["small"], "checkpoints": [], "figures": 1} for one in tables]
    write_text(folder / "depths.html", render(compared.page(archives, [figure], [], made_page.published)))
    page = opened()
    page.goto((folder / "depths.html").as_uri() + f"#/figure/{name}")
    page.wait_for_selector(".grid .panel svg .mark-symbol path")
    points = page.locator(".grid .panel svg [aria-label*='line: published']")
    assert [place in one.get_attribute("aria-label") for one in points.all()] == [True]


def test_every_figure_of_two_archives_opens(opened, beside, made_page):
    page = opened()
    page.goto(beside)
    assert len(cards(page)) == len(made_page.figures) and page.locator("main .grid .panel").count() == 2
    for entry, *_ in made_page.figures:
        page.goto(f"{beside}#/figure/{entry['name']}")
        page.wait_for_selector(".picture img")
        assert page.locator(".picture").count() == 2


def test_claims_of_two_archives_are_filtered_by_whether_they_agree(opened, beside, made_page):
    page = opened()
    page.goto(f"{beside}#/claims")
    rows = page.locator("main tbody tr")
    assert rows.count() == len(made_page.claims)
    page.get_by_label("Verdicts").select_option("opposite")
    assert rows.count() == 1 and "✗ fails" in rows.inner_text()
    assert "a=opposite" in page.url
    page.get_by_label("Verdicts").select_option("in one archive alone")
    assert rows.count() == 1 and rows.locator("td").nth(2).inner_text() == "–"


@pytest.mark.parametrize(
    "view", ["#/", "#/figure/kovaleva2019/figure5", "#/figure/hao2020/figure2", "#/claims"]
)
def test_axe_finds_no_serious_problem_of_two_archives(opened, beside, view):
    page = opened(dark=True)
    page.goto(beside + view)
    assert not serious_problems(page)
    page.set_viewport_size({"width": 390, "height": 850})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_page_of_two_models_alone(opened, made_page):
    """What `bertshift compare --out` writes: it begins with them, and leads to no figures."""
    tokenizer = tokenizer_of("bert")
    models = [model_of("bert", seed, vocab_size=len(tokenizer)) for seed in (0, 1)]
    change = bertshift.compare(*models, TEXTS, tokenizer=tokenizer, null="noise", draws=2)
    change.write(made_page.folder / "two")
    page = opened()
    page.goto((made_page.folder / "two/index.html").as_uri())
    page.wait_for_selector("main h2")
    assert page.locator("main h1").inner_text() == "Two models"
    assert page.locator("nav a").all_inner_texts() == ["Two models"]
    panels = page.locator("main h3").all_inner_texts()
    assert len(panels) == 5 and "Hidden states, CKA, debiased" in panels
    assert page.get_by_label("Around a mean").input_value() == "intervals"
    said = page.locator("main").inner_text() + page.locator("#foot").inner_text()
    assert "noise of the same size" in said
    page.locator("main .grid summary").first.click()
    page.locator("main td", has_text="noise").first.wait_for()
    assert page.locator("main td", has_text="noise").count() == 5
    assert "6 texts" in said and "snakemake" not in said and "Scale" not in said
