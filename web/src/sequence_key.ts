// What the shapes of the packets' picture mean.

import { element } from "./elements.ts";

/** Each shape as a path in a box of 16 by 16; the style sheet gives its colour by the class. */
const SHAPES: readonly (readonly [name: string, words: string, path: string])[] = [
  ["segment", "segment sent", "M8 2V14M8 2L5.5 5.5H10.5ZM8 14L5.5 10.5H10.5Z"],
  ["again", "sent again", "M8 1V15M8 4L12 8L8 12L4 8Z"],
  ["acknowledged", "acknowledged", "M1 12H6V8H11V4H15"],
  ["selective", "selectively acknowledged", "M8 2V14M5.5 2H10.5"],
  ["window", "receive window ends", "M1 12H6V8H11V4H15"],
];

export function packetKey(): HTMLElement {
  return element("p", { class: "key" }, ...SHAPES.map(([name, words, path]) => element("span", {}, shape(name, path), words)));
}

function shape(name: string, path: string): SVGElement {
  const made = <K extends keyof SVGElementTagNameMap>(tag: K, attributes: Readonly<Record<string, string>>) => {
    const it = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
    return it;
  };
  const picture = made("svg", { viewBox: "0 0 16 16", width: "16", height: "16", "aria-hidden": "true", class: name });
  picture.append(made("path", { d: path }));
  return picture;
}
