"use strict";
// What the page's scripts share: unpacking what it holds compressed, and making elements from texts.
const page = (() => {
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const [value, held] = await new Response(stream).json();
    const put = (of) => {
      if (Array.isArray(of)) return of.map(put);
      if (of === null || typeof of !== "object") return of;
      if (Object.hasOwn(of, "$")) return held[of.$];
      return Object.fromEntries(Object.entries(of).map(([key, inner]) => [key, put(inner)]));
    };
    return put(value);
  }

  // An element; what it holds are elements or texts, never markup.
  function made(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== "") element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  return { unpacked, made };
})();
