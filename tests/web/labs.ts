// Settings of all kinds, each as a lab file and as a request, JSON in lines: `node labs.js FILE`
import { writeFile } from "node:fs/promises";
import { labFile } from "../../web/src/lab.ts";
import { request } from "../../web/src/request.ts";
import { counts, SETTINGS, START, steps, valueAt, type Settings } from "../../web/src/settings.ts";

/** Beside these every setting counts, one after the other. */
const BESIDE: readonly Settings[] = [
  { ...START, users: 3 },
  { ...START, neighbours: 2, between: "gateway", policer: 20e6, jitter: 5e6, handover: 15e9, delayLine: 5000, outage: 2e9 },
  { ...START, between: "split and tunnel" },
  { ...START, between: "coded tunnel", titration: "on" },
];

const chosen: Settings[] = [...BESIDE];
for (const setting of SETTINGS) {
  const values = setting.kind === "choice" ? setting.options : [0, 0.31, 0.77, 1].map((share) => valueAt(setting, Math.round(share * steps(setting))));
  const beside = BESIDE.find((each) => counts(setting, each));
  if (beside === undefined) throw new Error(`${setting.key} never counts`);
  for (const value of values) chosen.push({ ...beside, [setting.key]: value });
}
await writeFile(process.argv[2] ?? "", chosen.map((settings) => JSON.stringify({ lab: labFile(settings), request: request(settings) })).join("\n"));
