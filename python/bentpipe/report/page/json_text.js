// @ts-check
// JSON for a reader. The text is never parsed, so that large integers keep all their digits.

const STEP = "  ";

/**
 * The same JSON with a line for each member and element.
 * @param {string} text JSON without white space between its tokens
 */
export function indented(text) {
  let found = "", depth = 0, quoted = false;
  const line = () => `\n${STEP.repeat(depth)}`;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at), next = text.charAt(at + 1);
    if (quoted) {
      found += character;
      if (character === "\\") found += text.charAt(++at);
      else if (character === '"') quoted = false;
    } else if (character === '"') {
      quoted = true;
      found += character;
    } else if (character === "{" || character === "[") {
      if (next === "}" || next === "]") { found += character + next; at++; }
      else { depth++; found += character + line(); }
    } else if (character === "}" || character === "]") {
      depth--;
      found += line() + character;
    } else found += character === "," ? `,${line()}` : character === ":" ? ": " : character;
  }
  return found;
}
