// Two archives beside each other, where data.compared is there: #/ (all figures), #/figure/<paper>/<item>, #/claims.
// These are functions of the same module as page.js, which calls them.

const ARCHIVES = ["light-dark(#0072B2, #56B4E9)", "light-dark(#D55E00, #f08138)"];
const AGREE = ["opposite", "one undecided", "agree", "in one archive alone", "not testable"]; // in this order

const archiveLabels = () => data.compared.archives.map(one => one.label);
const labelOfArchive = name => data.compared.archives.find(one => one.name === name).label;
const swatched = () => h("p", { class: "key" }, data.compared.archives.map((one, k) => [h("span", { class: "swatch", style: `display:inline-block;vertical-align:middle;color:${ARCHIVES[k]}` }), ` ${one.label} \u2003`]));

function agreements(claims) {
  const counts = AGREE.map(key => [key, claims.filter(one => one.agree === key).length]).filter(([, count]) => count);
  return h("span", { class: "counts" }, counts.length ? counts.map(([key, count]) => h("span", {}, `${count} ${key}`)) : "No claim");
}

const claimsOf = each => data.compared.claims.filter(one => `${one.paper}/${one.figure}` === each.name);

function comparedOverview() {
  const { archives, figures, claims } = data.compared;
  return [
    h("h1", { tabindex: "-1" }, data.title),
    h("p", { class: "wide soft" }, `Two archives, drawn and decided by the same program: ${many(figures.length, "figure")} that both have, and ${many(claims.length, "claim")} of either. Verdicts: `, agreements(claims), "."),
    demo ? worldNote() : null,
    h("div", { class: "grid" }, archives.map((one, k) => h("div", { class: "panel", style: `border-left:5px solid ${ARCHIVES[k]}` },
      h("h3", {}, beside ? h("a", { href: `${encodeURIComponent(one.name)}/index.html` }, one.label) : one.label),
      h("dl", {}, h("dt", {}, "Scale"), h("dd", {}, one.scales.join(", ")), h("dt", {}, "Checkpoints"), h("dd", {}, h("ul", {}, one.checkpoints.map(name => h("li", {}, name)))),
        h("dt", {}, "Figures"), h("dd", {}, one.figures))))),
    data.papers.map(paper => {
      const own = figures.filter(each => each.paper === paper.name);
      return own.length ? h("section", { class: "paper", id: paper.name }, h("header", {}, h("h2", {}, paper.short), agreements(claims.filter(one => one.paper === paper.name))),
        h("ul", { class: "cards" }, own.map(each => h("li", {}, h("a", { class: "card", href: `#/figure/${each.name}` },
          h("div", { class: "window" }, h("img", { src: each.thumbnails[0].url, alt: "", loading: "lazy" })),
          h("div", { class: "text" }, h("h3", {}, each.title), each.place ? h("span", { class: "soft small" }, each.place) : null, agreements(claimsOf(each)))))))) : null;
    }),
  ];
}

function comparedFigure(name) {
  const { archives, figures } = data.compared, each = figures.find(one => one.name === name), seen = new Set();
  if (!each) return notFound(name);
  const sides = claimsOf(each).flatMap(one => one.sides.map((side, k) => side && { ...one, ...side, published_value: k ? "" : one.published_value, published: k ? null : one.published,
    case: [one.case, archives[k].label].filter(Boolean).join(", ") })).filter(Boolean).map(one => ({ ...one, claim: `${one.id} (${one.case})` }));
  return [
    h("div", { class: "crumbs" }, h("a", { href: "#/" }, papers[each.paper].short)),
    h("h1", { tabindex: "-1" }, each.title), h("p", { class: "soft" }, [each.place, each.place ? " · " : "", agreements(claimsOf(each))]),
    h("div", { class: "caption" }, explained(each.shows, seen)),
    beside ? h("ul", { class: "links" }, h("li", {}, h("a", { href: `${each.name}.tsv` }, "Every number of both (TSV)"))) : null,
    h("section", {}, h("h2", {}, "Its numbers"), each.chart ? besideEachOther(each) : each.numbers?.rows.length ? numbersList(each.numbers, archiveLabels())
      : h("p", { class: "soft" }, "This figure has no single numbers to compare.")),
    sides.length ? h("section", {}, h("h2", {}, "What is claimed"), claimKey(sides), claimGroups(sides).map(cases => claimGroup(cases, seen))) : null,
    h("section", {}, h("h2", {}, "Both pictures"), h("div", { class: "maps" }, archives.map((one, k) => {
      const file = `${encodeURIComponent(one.name)}/${each.name}`, small = each.thumbnails[k];
      const image = h("img", { src: beside ? `${file}.png` : small.url, alt: `${each.title}: ${one.label}`, width: small.size[0], height: small.size[1],
        onerror: event => { if (event.target.src !== small.url) event.target.src = small.url; } });
      return h("figure", { class: "picture", style: "flex:1 1 24rem" }, h("figcaption", {}, one.label), h(beside ? "a" : "div", beside ? { href: `${file}.pdf` } : {}, image), h("p", { class: "soft small wide" }, each.made[k]));
    }))),
  ];
}

// One panel a model, with a line of each archive; the rest is chosen. Maps of heads stand side by side.
function besideEachOther(each) {
  const chart = each.chart, archive = chart.choices.findIndex(one => one.key === "archive"), names = chart.choices[archive].values.map(labelOfArchive), theirs = chart.rows.find(row => row[1] === PUBLISHED);
  const chosen = chart.choices.map((_, k) => Math.max(0, theirs?.[FIRST + k] ?? 0)), body = h("div");
  const { box, fits, draw: drawChoices } = chooser(chart, chosen, () => redraw(), archive);
  const of = row => row[FIRST + archive], colour = k => ARCHIVES[archiveLabels().indexOf(names[k])];
  const isCell = row => chart.column && (row[3] > 0 || chart.column === "ref_layer");
  const depths = depthsOf(chart, row => `${row[0]} ${of(row)}`), depth = depths.differ(chart.rows);
  const layersOf = k => [...new Set(chart.rows.filter(row => row[1] === OURS && of(row) === k).map(depths.of))].join(" and ");
  const titleOfX = rows => depth ? "share of the depth" : chart.x in X ? titleOf(chart.x, rows.map(row => row[2])) : chart.x;
  const pointsOf = rows => rows.map(row => pointOf(row, { line: row[1] === PUBLISHED ? "published" : names[of(row)], mine: "mean", axis: titleOfX(rows).replace(" (0 = embeddings)", ""), place: depth && depths.place(row) }));
  const panel = (rows, title) => {
    const xTitle = titleOfX(rows), values = pointsOf(rows), canvas = h("div", { class: "chart" });
    later(canvas, () => draw(canvas, lineSpec(spreadOut(values), { x: chart.x, xTitle, names: [...names, "published"], colours: [...names.map((_, k) => colour(k)), "var(--ink)"], height: 190 }), `${each.title}, ${title}: ${names.join(" and ")} by ${xTitle}`));
    return h("div", { class: "panel" }, h("h3", {}, title), canvas,
      numbersTable(["Archive", "What", chart.x, "Value", "Interval", "Replicates"], () => values.map((one, k) => [one.Model, one.What, rows[k][2], one.Value, one.Interval, one.Replicates])));
  };
  const maps = (cells, title) => {
    const look = lookOf(chart, cells);
    return h("div", { class: "panel", style: "margin-top:1rem" }, h("h3", {}, title), h("div", { class: "maps" }, names.map((name, k) => [name, cells.filter(row => of(row) === k)]).filter(([, own]) => own.length).map(([name, own]) =>
      headsMap(name, own.map(cellOf), look, null, `${each.title}, ${title}`))));
  };
  const redraw = () => {
    drawChoices();
    const rows = chart.rows.filter(row => fits(row)), parts = chart.lines.map((line, k) => [line.label || each.title, rows.filter(row => row[0] === k || row[0] === -1)]).filter(([, own]) => own.some(row => row[1] === OURS));
    const shared = ([, own]) => names.every((_, k) => own.some(row => row[1] === OURS && of(row) === k));
    parts.sort((a, b) => shared(b) - shared(a)); // what both show comes first
    const curves = parts.map(([title, own]) => [title, own.filter(row => !isCell(row) && !(chart.column === "head" && row[2] === 0))]).filter(([, own]) => new Set(own.filter(row => row[1] === OURS).map(row => row[2])).size > 1);
    const cells = parts.filter(shared).map(([title, own]) => [title, own.filter(row => isCell(row) && row[1] === OURS)]).filter(([, own]) => own.length);
    const points = spreadOut(curves.flatMap(([, own]) => pointsOf(own)));
    const key = legend(points, [["ours", ["mean of ", term("replicate", "replicates")]], ["beside", [term("null", "null"), " or baseline"]], ["published", "◆ published", "var(--ink)"]], "var(--soft)");
    const note = depth ? h("p", { class: "key" }, `Numbers of layers differ (${names.map((name, k) => `${name}: ${layersOf(k)}`).join(", ")}): layers stand by their share of the depth.`) : null;
    body.replaceChildren(...[curves.length ? key : null, curves.length ? note : null, h("div", { class: "grid" }, curves.map(([title, own]) => panel(own, title))), cells.map(([title, own]) => maps(own, title)),
      curves.length || cells.length ? null : h("p", { class: "soft" }, "Both archives show other models here; see both pictures.")].flat().filter(Boolean));
  };
  redraw();
  return h("div", {}, box, swatched(), body);
}

function comparedClaims(query) {
  const { archives, claims, figures } = data.compared, body = h("tbody"), count = h("p", { class: "soft small", role: "status" });
  const side = (one, k) => h("td", { "data-head": `${archives[k].label} ` }, one ? [chip(one.verdict, one.null), h("div", {}, interval(one.ours, one.low, one.high) || "no number"), h("div", { class: "soft" }, one.reason)] : "–");
  const drawRows = () => {
    const rows = claims.filter(one => (!query.get("p") || one.paper === query.get("p")) && (!query.get("a") || one.agree === query.get("a")) && words(query).every(word => `${one.claim} ${one.statement} ${one.measure}`.toLowerCase().includes(word)))
      .sort((one, other) => AGREE.indexOf(one.agree) - AGREE.indexOf(other.agree));
    count.replaceChildren(...left(query, ["p", "a", "q"], `${many(rows.length, "claim")} of ${claims.length}: `, agreements(rows)));
    body.replaceChildren(...rows.map(one => h("tr", {}, h("th", { scope: "row" }, figures.some(each => each.name === `${one.paper}/${one.figure}`) ? h("a", { href: `#/figure/${one.paper}/${one.figure}` }, one.claim) : one.claim, h("div", { class: "soft" }, papers[one.paper].short)),
      h("td", {}, one.statement, h("div", { class: "soft" }, `Decided by: ${one.measure}`)), one.sides.map(side), h("td", { "data-head": "Verdicts " }, one.agree), h("td", { "data-head": "Published " }, one.published_value))));
  };
  const set = setter(query, drawRows);
  drawRows();
  return [h("h1", { tabindex: "-1" }, "Claims"), demo ? worldNote() : null,
    h("div", { class: "filters" }, choiceOf(query, set, "p", "Paper", data.papers.map(each => [each.name, each.short])), choiceOf(query, set, "a", "Verdicts", AGREE.map(key => [key, key])), searchOf(query, set)), count,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Claims" }, h("table", { class: "claims" },
      h("thead", {}, h("tr", {}, ["Claim", "What is claimed", ...archiveLabels(), "Verdicts", "Published"].map(text => h("th", { scope: "col" }, text)))), body))];
}

