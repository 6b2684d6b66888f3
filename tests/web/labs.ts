// Settings of all kinds, each as a lab file and as a request, JSON in lines: `node labs.js FILE`
import { writeFile } from "node:fs/promises";
import { labFile, request } from "../../web/src/lab.ts";
import { SETTINGS, START, steps, valueAt, type Settings } from "../../web/src/settings.ts";

const chosen: Settings[] = [{ ...START }];
for (const setting of SETTINGS) {
  const values = setting.kind === "choice" ? setting.options : [0, 0.31, 0.77, 1].map((share) => valueAt(setting, Math.round(share * steps(setting))));
  for (const value of values) chosen.push({ ...START, users: 3, [setting.key]: value });
}
await writeFile(process.argv[2] ?? "", chosen.map((settings) => JSON.stringify({ lab: labFile(settings), request: request(settings) })).join("\n"));
