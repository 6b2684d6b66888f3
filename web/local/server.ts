// What the page asks of its server. The token is in the page's own address; what changes something says it in a header too.

const token = location.pathname.split("/")[1] ?? "";

export class Refused extends Error {}

export async function get<T>(path: string, query: readonly (readonly [string, string])[] = []): Promise<T> {
  const words = new URLSearchParams(query.map(([name, value]) => [name, value]));
  return answer<T>(await fetch(`api/${path}${words.size > 0 ? `?${words}` : ""}`));
}

export async function post<T>(path: string, content: unknown = {}): Promise<T> {
  const headers = { "Content-Type": "application/json", "X-Bentpipe-Token": token };
  return answer<T>(await fetch(`api/${path}`, { method: "POST", headers, body: JSON.stringify(content) }));
}

/** A message each time that something is new; it goes on after the connection was lost. */
export function listen<T>(path: string, hear: (message: T) => void, lost: (isLost: boolean) => void): void {
  const source = new EventSource(`api/${path}`);
  source.onopen = () => lost(false);
  source.onmessage = ({ data }) => hear(JSON.parse(String(data)) as T);
  source.onerror = () => lost(true);
}

async function answer<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T;
  const text = await response.text();
  let why = text;
  try {
    why = (JSON.parse(text) as { error?: string }).error ?? text;
  } catch {
    // not JSON: the text says it
  }
  throw new Refused(why.trim());
}
