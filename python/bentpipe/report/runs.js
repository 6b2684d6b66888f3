"use strict";
// The charts over all runs, and each run's part, made when it is opened: by its row, by a point or cell that
// stands for it, or by the page's address (#run=NAME).
(() => {
  const made = page.made;
  const rows = [...document.querySelectorAll("table.runs tbody tr")];
  const names = rows.map((row) => decodeURIComponent(row.querySelector("a").hash.slice("#run=".length)));
  const numbers = new Map(names.map((name, number) => [name, number]));
  const groups = [...document.querySelectorAll("script.group")].map((script) => ({ script, parts: null }));
  const groupRuns = Number(document.getElementById("group-runs").textContent);
  const opened = document.getElementById("opened");
  const parts = new Map();
  let beside = [], from;

  function partOf(number) {
    const group = groups[Math.floor(number / groupRuns)];
    group.parts ??= page.unpacked(group.script.textContent);
    return group.parts.then((found) => found[number % groupRuns]);
  }

  // The runs that stand behind the same point of a chart, as steps from one to the next.
  function steps(number, others) {
    if (others.length < 2) return null;
    const at = others.indexOf(number);
    const to = (other, text, label) => made("a", { href: `#run=${encodeURIComponent(names[other])}`, class: "step",
      "aria-label": label, "aria-current": other === number ? "true" : false }, text);
    const shown = others.length <= 20 ? others : others.slice(Math.max(0, Math.min(at - 10, others.length - 20))).slice(0, 20);
    return made("p", { class: "steps" }, `One of ${others.length} runs of this point: `,
      ...shown.map((other) => to(other, String(other + 1), `run ${other + 1}`)));
  }

  function table(name, asked, figures) {
    return made("table", {}, made("caption", {}, name, asked ? made("span", {}, asked) : null),
      made("tbody", {}, ...figures.map(([words, value, key]) =>
        made("tr", {}, made("th", { scope: "row", title: key }, words), made("td", {}, value)))));
  }

  function settingsInForce(sysctl) {
    const head = made("tr", {}, ...["sysctl", "client", "server"].map((word) => made("th", { scope: "col" }, word)));
    const body = sysctl.map(([name, client, server, asked]) => made("tr", { class: asked ? "asked" : "" },
      made("th", { scope: "row" }, name), made("td", {}, client), made("td", {}, server)));
    return made("details", { class: "plain" }, made("summary", {}, `Kernel settings in force (${sysctl.length})`),
      made("div", { class: "scroll" }, made("table", { class: "settings" }, made("thead", {}, head), made("tbody", {}, ...body))),
      made("p", { class: "note" }, "Marked: set by the lab."));
  }

  function element(part, number, others) {
    const close = made("button", { type: "button", class: "close", "aria-label": "Close this run" }, "×");
    close.addEventListener("click", () => shut(number));
    const engine = [made("h3", {}, "What the engine says of itself"),
      made("ul", {}, ...part.engine.map((words) => made("li", {}, words)))];
    const divs = [], figures = [];
    let engineSaid = false;
    for (const panel of part.panels) {
      if (panel.engine) { figures.push(...engine); engineSaid = true; }
      const { element: figure, div } = charts.figure({ title: panel.title, sentence: panel.engine ? "" : panel.sentence }, "");
      div.dataset.clock = panel.clock;
      figures.push(figure);
      divs.push(div);
    }
    const article = made("article", { class: "run", tabindex: "-1", "aria-label": `Run ${number + 1}: ${part.heading}` },
      made("header", {}, made("h2", {}, part.heading), made("span", { class: "headline" }, part.headline),
        made("span", { class: part.counts ? "badge good" : "badge bad" }, part.badge), names.length > 1 ? close : null),
      steps(number, others),
      part.why.length ? made("ul", { class: "why" }, ...part.why.map((why) => made("li", {}, why))) : null,
      divs.length ? made("p", { class: "note" }, "Dragging over a chart zooms all of the run's; a double click shows all again.") : null,
      ...figures, ...(engineSaid ? [] : engine), made("h3", {}, "Figures"),
      made("div", { class: "cards" }, ...part.cards.map(([name, asked, found]) => table(name, asked, found))),
      part.sysctl.length ? settingsInForce(part.sysctl) : null,
      made("details", { class: "plain" }, made("summary", {}, "This run's settings in plain numbers"), made("pre", {}, part.spec)),
      made("p", { class: "note" }, `Its folder: ${part.name}`));
    article.addEventListener("keydown", (event) => { if (event.key === "Escape") shut(number); });
    return { article, divs };
  }

  // `among`: one of several that the page begins with, in their order, where the reader is left alone.
  async function open(number, among = false) {
    if (!parts.has(number)) {
      parts.set(number, null);
      const part = await partOf(number);
      const { article, divs } = element(part, number, beside.includes(number) ? beside : []);
      parts.set(number, { article, divs, from });
      from = undefined;
      if (among) opened.append(article); else opened.prepend(article);
      rows[number].classList.add("open");
      const shown = divs.map((div, at) => charts.show(div, part.figures[at]));
      Promise.all(shown).then(() => charts.link(divs.filter((div) => div.dataset.clock)));
    }
    const here = parts.get(number);
    if (here && !among && names.length > 1) {
      here.article.scrollIntoView();
      here.article.focus({ preventScroll: true });
    }
  }

  function shut(number) {
    const { article, divs, from } = parts.get(number);
    charts.forget(divs);
    article.remove();
    parts.delete(number);
    rows[number].classList.remove("open");
    if (numberInAddress() === number) history.replaceState(null, "", location.pathname + location.search);
    if (from !== undefined) scrollTo(0, from);  // where the reader came from
    else rows[number].scrollIntoView({ block: "center" });
    rows[number].querySelector("a").focus({ preventScroll: true });
  }

  const numberInAddress = () =>
    location.hash.startsWith("#run=") ? numbers.get(decodeURIComponent(location.hash.slice("#run=".length))) : undefined;

  function follow() {
    const number = numberInAddress();
    if (number !== undefined) open(number);
  }

  function go(number) {
    const hash = `#run=${encodeURIComponent(names[number])}`;
    if (location.hash === hash) open(number);
    else location.hash = hash;
  }

  // The charts over all runs. A point or cell stands for the runs that it names, the most typical first.
  async function overview(section) {
    const choices = await page.unpacked(section.querySelector("script.choices").textContent);
    const panels = section.querySelector(".panels"), buttons = [...section.querySelectorAll("[data-choice]")];
    const keys = made("ul", { class: "keys" });
    panels.before(keys);
    let divs = [];
    const show = (choice) => {
      charts.forget(divs);
      const made_ = choice.panels.map((panel) => charts.figure(panel, choice.shape === "rows" ? "" : choice.shape));
      divs = made_.map(({ div }) => div);
      panels.className = `panels ${choice.shape}`;
      const figures = made_.map(({ element: figure }) => figure);
      panels.replaceChildren(...(choice.shape === "rows" ? charts.folded(figures, choice.figures) : figures));
      keys.replaceChildren(...choice.keys.map(([label, light, dark, sign]) =>
        made("li", {}, made("span", { style: `--light: ${light}; --dark: ${dark}` }, sign), ` ${label}`)));
      section.querySelector("p.note").textContent = choice.note;
      divs.forEach((div, at) => charts.show(div, choice.figures[at]).then(() => div.on("plotly_click", (click) => {
        const found = [click.points[0].customdata].flat().map((name) => numbers.get(name)).filter((number) => number !== undefined);
        if (!found.length) return;
        beside = found.slice().sort((a, b) => a - b);
        from = scrollY;
        go(found[0]);
      })));
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(choices[Number(button.dataset.choice)] === choice)));
    };
    buttons.forEach((button) => button.addEventListener("click", () => show(choices[Number(button.dataset.choice)])));
    section.querySelector("select")?.addEventListener("change", (event) => show(choices[Number(event.target.value)]));
    show(choices[0]);
  }

  if (!("DecompressionStream" in window)) {
    opened.append(made("p", { class: "note" }, "This browser is too old for the charts: it cannot unpack them (DecompressionStream)."));
    return;
  }
  document.querySelectorAll("section.overview").forEach(overview);
  rows.forEach((row, number) => row.addEventListener("click", (event) => {
    if (getSelection().toString()) return;
    from = scrollY;
    if (!event.target.closest("a")) go(number);
  }));
  addEventListener("hashchange", follow);
  if (names.length <= 4) names.reduce((before, _, number) => before.then(() => open(number, true)), Promise.resolve());
  follow();

  const filter = document.getElementById("filter");
  const texts = document.querySelectorAll("table.runs thead th.text").length;
  if (filter) filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row) => {
      const text = [...row.cells].slice(1, texts + 1).concat(row.lastElementChild)
        .map((cell) => cell.textContent.toLowerCase()).join(" ");
      row.hidden = !words.every((word) => text.includes(word));
    });
  });

  // Columns are sorted by number where all are numbers, else in the order in which the lab has their values.
  const heads = [...document.querySelectorAll("table.runs thead th")];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    const texts = rows.map((row) => row.cells[column].textContent.replace(/[\u202f\u00a0]/g, ""));
    const first = new Map();
    texts.forEach((text) => first.has(text) || first.set(text, first.size));
    const plain = texts.every((text) => text === "" || !Number.isNaN(Number(text)));
    const keys = texts.map((text) => (text === "" ? Infinity : plain ? Number(text) : first.get(text)));
    const order = rows.map((_, number) => number).sort((a, b) => (down ? keys[b] - keys[a] : keys[a] - keys[b]) || a - b);
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows[0].parentElement.append(...order.map((number) => rows[number]));
  }));
})();
