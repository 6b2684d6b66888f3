import { expect, test } from "vitest";
import type { Answer, Ask } from "../../web/src/messages.ts";
import { Runner } from "../../web/src/runner.ts";
import { START } from "../../web/src/settings.ts";
import type { Outcome } from "../../web/src/simulator.ts";

/** A worker that answers when it is told to. */
class Told {
  readonly asked: Ask[] = [];
  onmessage: (event: { data: Answer }) => void = () => undefined;
  postMessage(ask: Ask): void { this.asked.push(ask); }
  answer(whole: boolean): void {
    const id = this.asked.at(-1)?.id ?? 0;
    this.onmessage({ data: { kind: "outcome", id, outcome: {} as Outcome, whole, tookMs: 1 } });
  }
}

function asking(): { worker: Told; runner: Runner; found: boolean[] } {
  const worker = new Told(), found: boolean[] = [];
  const runner = new Runner(worker as unknown as Worker, {
    found: ({ whole }) => found.push(whole), progress: () => undefined, failed: (why) => { throw new Error(why); },
  });
  return { worker, runner, found };
}

const budgets = ({ asked }: Told) => asked.map(({ budgetMs }) => budgetMs !== null);

test("the whole run follows a preview that ended early", () => {
  const { worker, runner, found } = asking();
  runner.ask(START, true);
  runner.ask(START, false);
  expect(budgets(worker)).toEqual([true]);
  worker.answer(false);
  expect(budgets(worker)).toEqual([true, false]);
  worker.answer(true);
  expect(found).toEqual([false, true]);
});

test("a preview that was the whole run is not simulated again", () => {
  const { worker, runner, found } = asking();
  runner.ask(START, true);
  runner.ask({ ...START }, false);
  worker.answer(true);
  expect([budgets(worker), found]).toEqual([[true], [true]]);
  runner.ask({ ...START, users: 3 }, true);
  runner.ask({ ...START, users: 4 }, false);
  worker.answer(true);
  expect(budgets(worker)).toEqual([true, true, false]);
});
