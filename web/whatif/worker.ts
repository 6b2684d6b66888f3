// A page's worker: the page holds the module, and sends it first.

import { serveWith } from "../src/serving.ts";

self.onmessage = ({ data }: MessageEvent<WebAssembly.Module>) => serveWith(Promise.resolve(data));
