"use strict";
// Draws charts: figures are plotly's own JSON. One that is not in sight yet waits until it is.
const charts = (() => {
  const dark = JSON.parse(document.getElementById("dark").textContent);
  const wantsDark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map(), waiting = new Map();
  let printing = false, library = null;

  function plotly() {
    library ??= page.unpacked(document.getElementById("plotly").textContent).then((text) => {
      const script = document.createElement("script");
      script.textContent = text;
      document.head.append(script);
    });
    return library;
  }

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function recoloured(data) {
    if (!wantsDark.matches || printing) return data;
    const of = (value, key) => {
      if (typeof value === "string") return key !== "name" && Object.hasOwn(dark, value) ? dark[value] : value;
      if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map((inner) => of(inner, key));
      if (value === null || typeof value !== "object") return value;
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, of(inner, name)]));
    };
    return of(data, "");
  }

  function layout(figure, div) {
    const axis = (own) => ({
      ...own,
      title: { text: own.title.text, standoff: 8 },
      gridcolor: colour("--grid"), linecolor: colour("--line"), zerolinecolor: colour("--line"),
      showline: true, ticks: "outside", tickcolor: colour("--line"), minor: { ticks: "" },
      exponentformat: "none", separatethousands: true, automargin: "height",
    });
    const tall = div.classList.contains("tall"), small = div.classList.contains("small");
    const rows = figure.layout.categories;
    const axes = Object.fromEntries(Object.entries(figure.layout).filter(([key]) => /^[xy]axis/.test(key))
      .map(([key, own]) => [key, { ...axis(own), ...(key.startsWith("y") ? { automargin: Boolean(rows) } : {}) }]));
    return {
      ...axes,
      shapes: (figure.layout.shapes ?? []).map((shape) => ({ ...shape, line: { ...shape.line, color: colour("--soft") } })),
      hovermode: figure.layout.hovermode, hoverdistance: figure.layout.hovermode === "closest" ? 60 : 20,
      bargap: rows ? 0.25 : 0.1, barmode: rows ? "overlay" : "stack",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--ink") },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      separators: ".\u202f",
      margin: { l: rows ? 10 : 66, r: tall ? 10 : 8, t: tall || small ? 6 : 24, b: 42 },
      legend: tall
        ? { orientation: "h", x: 0, y: -0.17, yanchor: "top", font: { size: 11.5 } }
        : { orientation: "h", x: 1, xanchor: "right", y: 1.0, yanchor: "bottom", font: { size: 11.5 } },
      showlegend: !small && figure.data.some((trace) => trace.showlegend !== false),
    };
  }

  // In two lines, where it is long: beside long names of rows little room is left for it.
  function inTwoLines(text) {
    const spaces = [...text.matchAll(/ /g)].map((found) => found.index);
    if (text.length < 20 || !spaces.length) return text;
    const bracket = text.indexOf(" (");
    const at = bracket > 0 ? bracket : spaces.reduce((best, each) => (Math.abs(each - text.length / 2) < Math.abs(best - text.length / 2) ? each : best));
    return `${text.slice(0, at)}<br>${text.slice(at + 1)}`;
  }

  // On a narrow screen panels that stand side by side and share their rows stand below each other.
  const narrow = matchMedia("(max-width: 620px)");
  function stacked(figure) {
    const names = Object.keys(figure.layout).filter((key) => key.startsWith("xaxis"));
    if (!figure.layout.stackable || !narrow.matches || names.length < 2) return figure;
    const { around, gap } = figure.layout.stackable;
    const each = figure.layout.height - around, step = each + gap;
    const all = step * names.length - gap;
    const layout = { ...figure.layout, height: all + around };
    names.forEach((name, at) => {
      const number = name.slice("xaxis".length), top = 1 - at * step / all;
      const own = figure.layout[name];
      layout[name] = { ...own, title: { text: inTwoLines(own.title.text) }, domain: [0, 1], anchor: `y${number}` };
      layout[`yaxis${number}`] = { ...figure.layout.yaxis, domain: [Math.max(0, top - each / all), top], anchor: `x${number}` };
    });
    return { layout, data: figure.data.map((trace) => ({ ...trace, yaxis: (trace.xaxis ?? "x").replace("x", "y") })) };
  }

  function sized(div, figure) {
    const { height, stackable } = figure.layout;
    if (height) div.style.height = `${height}px`;
    div.style.minWidth = narrow.matches && stackable?.least_width ? `${stackable.least_width}px` : "";
  }

  const settings = { displayModeBar: false, responsive: true, doubleClick: "reset" };

  async function draw(div, given) {
    await plotly();
    drawn.set(div, given);
    waiting.delete(div);
    const figure = stacked(given);
    sized(div, figure);
    await Plotly.react(div, recoloured(figure.data), layout(figure, div), settings);
  }

  const inSight = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      inSight.unobserve(entry.target);
      waiting.get(entry.target)?.();
    }
  }, { rootMargin: "600px" });

  // Draws the figure when the div comes into sight. The promise is kept when it is drawn.
  function show(div, figure) {
    div.classList.toggle("wide", Boolean(figure.layout.categories && !figure.layout.stackable));
    sized(div, stacked(figure));
    return new Promise((done) => {
      waiting.set(div, () => draw(div, figure).then(done));
      inSight.observe(div);
    });
  }

  // What is no longer on the page.
  function forget(divs) {
    for (const div of divs) {
      inSight.unobserve(div);
      waiting.delete(div);
      if (drawn.delete(div)) Plotly.purge(div);
    }
  }

  // Charts on one clock: what is zoomed in one is zoomed in all.
  function link(divs) {
    let busy = false;
    for (const div of divs) {
      div.on("plotly_relayout", (change) => {
        if (busy) return;
        const from = change["xaxis.range[0]"], to = change["xaxis.range[1]"];
        const all = change["xaxis.autorange"];
        if (from === undefined && !all) return;
        busy = true;
        Promise.all(divs.filter((other) => drawn.has(other)).map((other) => {
          const range = all ? drawn.get(other).layout.xaxis.range : [from, to];
          return Plotly.relayout(other, { "xaxis.range": range.slice() });
        })).finally(() => { busy = false; });
      });
    }
  }

  // A chart with its words; `of` has `title` and `sentence`, `shape` is a class.
  function figure(of, shape) {
    const words = page.made("figcaption", {}, of.title ? page.made("b", {}, of.title) : null, of.sentence ?? "");
    const div = page.made("div", { class: `chart ${shape}`, role: "img", "aria-label": `${of.title}. ${of.sentence}` });
    return { element: page.made("figure", {}, words, div), div };
  }

  // Tall charts of rows would make a narrow page very long: all but the first open with a click on their words.
  const LONG = 2400;  // pixels of all together
  function folded(figures, drawn) {
    const heights = drawn.map((figure) => stacked(figure).layout.height ?? 0);
    if (!narrow.matches || heights.reduce((sum, each) => sum + each, 0) <= LONG) return figures;
    return figures.map((element, at) => {
      if (at === 0) return element;
      const words = element.querySelector("figcaption");
      const summary = page.made("summary", {}, ...words.childNodes);
      words.remove();
      return page.made("details", { class: "plain folded" }, summary, element);
    });
  }

  const redraw = () => drawn.forEach((figure, div) => draw(div, figure));
  wantsDark.addEventListener("change", redraw);
  narrow.addEventListener("change", redraw);
  addEventListener("beforeprint", () => { printing = true; waiting.forEach((begin) => begin()); redraw(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });
  return { show, forget, link, figure, folded };
})();
