// The playground's worker: its module lies beside it.

import { serveWith } from "./serving.ts";

async function load(): Promise<WebAssembly.Module> {
  const answer = await fetch(new URL("bentpipe.wasm", self.location.href));
  if (!answer.ok) throw new Error(`bentpipe.wasm: ${answer.status} ${answer.statusText}`);
  // As it comes, where the server names its type; browsers keep what they compiled so.
  const named = answer.headers.get("content-type") === "application/wasm";
  return named ? WebAssembly.compileStreaming(answer) : WebAssembly.compile(await answer.arrayBuffer());
}

serveWith(load());
