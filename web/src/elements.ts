// Elements of the page. Text goes in as text only, never as HTML.

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K, attributes: Readonly<Record<string, string>> = {}, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function byId<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return found;
}

/** Changes what it says, if it says something else: the browser lays out again what is set, even to the same text. */
export function say(it: Element, words: string): void {
  if (it.textContent !== words) it.textContent = words;
}
