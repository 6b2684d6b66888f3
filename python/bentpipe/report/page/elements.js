// @ts-check
// Elements of the page: found, or made from texts and never from markup.

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | boolean>} attributes true: without a value; false or "": left out
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function made(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== "") element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * The text of a script element that holds data.
 * @param {string} id
 */
export function held(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found.textContent ?? "";
}

/**
 * @param {ParentNode} within
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function first(within, selector) {
  const found = within.querySelector(selector);
  if (!(found instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
  return found;
}
