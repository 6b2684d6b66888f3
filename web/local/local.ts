// The page of `bentpipe web`: which view is shown, and what went wrong.

import { byId } from "../src/elements.ts";
import { PlayView, SqlView, WatchView } from "./other_views.ts";
import { RunsView } from "./runs_view.ts";
import { get } from "./server.ts";
import { StartView, type Facts } from "./start_view.ts";

const VIEWS = ["runs", "start", "play", "sql", "watch"] as const;
const fault = byId("fault", HTMLElement);

/** Does something, and says why it could not be done. */
function guarded(work: () => Promise<void>): void {
  fault.hidden = true;
  work().catch((error: unknown) => tell(error instanceof Error ? error.message : String(error)));
}

function tell(words: string): void {
  fault.textContent = words;
  fault.hidden = false;
}

function lost(isLost: boolean): void {
  document.body.dataset.lost = String(isLost);
  if (isLost) tell("The server does not answer. Has it been ended? Each start of `bentpipe web` has an address of its own.");
  else if (fault.textContent?.startsWith("The server does not")) fault.hidden = true;
}

async function begin(): Promise<void> {
  const facts = await get<Facts>("facts");
  byId("where", HTMLElement).textContent = facts.folder;
  const go = (view: string) => void (location.hash = view);
  const runs = new RunsView(facts.reports, guarded);
  const start = new StartView(facts, guarded, (folder) => runs.report(folder), (folder) => {
    go("runs");
    guarded(() => runs.show(folder));
  }, lost);
  const sql = new SqlView(guarded), watch = new WatchView(guarded);
  const play = new PlayView(facts.playground, (name, text, engine) => {
    go("start");
    guarded(() => start.run(name, text, engine));
  });

  const show = () => {
    const view = VIEWS.find((each) => `#${each}` === location.hash) ?? "runs";
    for (const each of VIEWS) byId(`view-${each}`, HTMLElement).hidden = each !== view;
    for (const link of byId("views", HTMLElement).querySelectorAll("a")) {
      if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (view === "play") play.show();
    if (view === "watch") watch.begin();
    if (view === "runs") guarded(async () => void (await runs.folders()));
    if (view === "sql") guarded(() => sql.show());
  };
  addEventListener("hashchange", show);
  show();
}

guarded(begin);
