// A table that is wider than the page scrolls. So the keyboard reaches it, too.
function reach() {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) {
    const scrolls = wrap.scrollWidth > wrap.clientWidth;
    for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": "Table" })) {
      if (scrolls) wrap.setAttribute(name, value);
      else wrap.removeAttribute(name);
    }
  }
}
addEventListener("load", reach);
addEventListener("resize", reach);
