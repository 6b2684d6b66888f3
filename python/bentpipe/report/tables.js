"use strict";
// On a narrow screen a table leaves out columns that it can spare; a button below it shows them.
(() => {
  const narrow = matchMedia("(max-width: 620px)");

  function fit(scroll) {
    const table = scroll.querySelector("table"), head = table.tHead.rows[0];
    const cells = (number) => [...table.rows].filter((row) => row.cells.length === head.cells.length).map((row) => row.cells[number]);
    const leave = (number, out) => cells(number).forEach((cell) => cell.classList.toggle("left-out", out));
    const spare = table.dataset.spare.split(" ").filter(Boolean).map(Number);
    spare.forEach((number) => leave(number, false));
    if (scroll.nextElementSibling?.matches(".more")) scroll.nextElementSibling.remove();
    if (!narrow.matches || scroll.dataset.all) return;
    const out = [];
    for (const number of spare) {
      if (scroll.scrollWidth <= scroll.clientWidth) break;
      leave(number, true);
      out.push(head.cells[number].textContent);
    }
    if (!out.length) return;
    const more = page.made("button", { type: "button", class: "more" }, `Show ${out.join(", ")}`);
    more.addEventListener("click", () => { scroll.dataset.all = "yes"; fit(scroll); });
    scroll.after(more);
  }

  const tables = [...document.querySelectorAll("[data-spare]")].map((table) => table.parentElement);
  tables.forEach(fit);
  narrow.addEventListener("change", () => tables.forEach(fit));
  // In closed details nothing has a width.
  for (const details of document.querySelectorAll("details")) {
    details.addEventListener("toggle", () => tables.filter((scroll) => details.contains(scroll)).forEach(fit));
  }
})();
