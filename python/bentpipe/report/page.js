"use strict";
// Draws the page's charts: the overview at once, a run's when it is opened. Figures are plotly's own JSON.
(() => {
  const dark = JSON.parse(document.getElementById("dark").textContent);
  const wantsDark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();
  let printing = false;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function recoloured(data) {
    if (!wantsDark.matches || printing) return data;
    return JSON.parse(JSON.stringify(data), (key, value) =>
      typeof value === "string" && key !== "name" && Object.hasOwn(dark, value) ? dark[value] : value);
  }

  function layout(figure, div) {
    const axis = (own) => ({
      ...own,
      title: { text: own.title.text, standoff: 8 },
      gridcolor: colour("--grid"), linecolor: colour("--line"), zerolinecolor: colour("--line"),
      showline: true, ticks: "outside", tickcolor: colour("--line"), minor: { ticks: "" },
      exponentformat: "none", separatethousands: true, automargin: "height",
    });
    const tall = div.classList.contains("tall"), rows = figure.layout.categories;
    const axes = Object.fromEntries(Object.entries(figure.layout).filter(([key]) => /^[xy]axis/.test(key))
      .map(([key, own]) => [key, { ...axis(own), ...(key.startsWith("y") ? { automargin: Boolean(rows) } : {}) }]));
    return {
      ...axes,
      hovermode: figure.layout.hovermode, bargap: rows ? 0.25 : 0.1, barmode: rows ? "overlay" : "stack",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("--ink") },
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") } },
      separators: ".\u202f",
      margin: { l: rows ? 10 : 66, r: tall ? 10 : 8, t: tall ? 6 : 24, b: 42 },
      legend: tall
        ? { orientation: "h", x: 0, y: -0.17, yanchor: "top", font: { size: 11.5 } }
        : { orientation: "h", x: 1, xanchor: "right", y: 1.0, yanchor: "bottom", font: { size: 11.5 } },
      showlegend: figure.data.some((trace) => trace.showlegend !== false),
    };
  }

  const settings = { displayModeBar: false, responsive: true, doubleClick: "reset" };

  function draw(div, figure) {
    drawn.set(div, figure);
    if (figure.layout.height) div.style.height = `${figure.layout.height}px`;
    return Plotly.react(div, recoloured(figure.data), layout(figure, div), settings);
  }

  // A run's charts are on one clock: what is zoomed in one is zoomed in all.
  function link(divs) {
    let busy = false;
    for (const div of divs) {
      div.on("plotly_relayout", (change) => {
        if (busy) return;
        const from = change["xaxis.range[0]"], to = change["xaxis.range[1]"];
        const all = change["xaxis.autorange"];
        if (from === undefined && !all) return;
        busy = true;
        Promise.all(divs.map((other) => {
          const range = all ? drawn.get(other).layout.xaxis.range : [from, to];
          return Plotly.relayout(other, { "xaxis.range": range.slice() });
        })).finally(() => { busy = false; });
      });
    }
  }

  function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  }

  async function open(run) {
    if (run.dataset.drawn || !run.open) return;
    run.dataset.drawn = "yes";
    const figures = await unpacked(run.querySelector("script.figures").textContent);
    const divs = [...run.querySelectorAll("[data-panel]")];
    divs.forEach((div) => draw(div, figures[Number(div.dataset.panel)]));
    link(divs.filter((div) => div.dataset.clock));
  }

  for (const section of document.querySelectorAll("section.overview")) {
    const figures = JSON.parse(section.querySelector("script.overview-figures").textContent);
    const buttons = [...section.querySelectorAll("[data-scale]")];
    const show = (scale) => {
      section.querySelectorAll("[data-overview]").forEach((div) => draw(div, figures[scale][Number(div.dataset.overview)]));
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.scale === scale)));
    };
    buttons.forEach((button) => button.addEventListener("click", () => show(button.dataset.scale)));
    show(Object.keys(figures)[0]);
  }

  const runs = [...document.querySelectorAll("details.run")];
  runs.forEach((run) => { run.addEventListener("toggle", () => open(run)); open(run); });
  function follow() {
    const run = runs.find((candidate) => `#${candidate.id}` === decodeURIComponent(location.hash));
    if (run) { run.open = true; open(run); run.scrollIntoView(); }
  }
  addEventListener("hashchange", follow);
  follow();

  const filter = document.getElementById("filter");
  if (filter) filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    runs.forEach((run) => {
      const text = run.querySelector("summary").textContent.toLowerCase();
      run.hidden = !words.every((word) => text.includes(word));
    });
  });

  const redraw = () => drawn.forEach((figure, div) => draw(div, figure));
  wantsDark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => { printing = true; redraw(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });
})();
