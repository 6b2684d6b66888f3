// How a lab that was started goes on, in words.

export interface JobState {
  readonly number: number;
  readonly lab: string;
  readonly engine: string;
  readonly folder: string;
  readonly status: "starting" | "running" | "ending" | "done" | "failed" | "cancelled";
  readonly message: string;
  readonly run: string;
  readonly detail: string;
  readonly runs: number;
  readonly ended: number;
  readonly failed: number;
  readonly length_s: number;
  readonly completed_s: number;
  readonly left_s: number | null;
  readonly lines: readonly string[];
}

export function statusWords(job: Pick<JobState, "status" | "runs" | "ended" | "failed" | "left_s" | "detail">): string {
  const failed = job.failed > 0 ? `, ${job.failed} failed` : "";
  const runs = job.runs > 0 ? `${job.ended} of ${job.runs} run${job.runs === 1 ? "" : "s"}${failed}` : "";
  const parts: Readonly<Record<JobState["status"], readonly string[]>> = {
    starting: ["Starting."],
    running: [runs, job.left_s === null ? "" : `about ${duration(job.left_s)} left`, job.runs === 1 ? job.detail : ""],
    ending: ["Ending. What is done is kept."],
    done: ["Done", runs],
    failed: ["Failed", runs],
    cancelled: ["Cancelled", runs],
  };
  return parts[job.status].filter((each) => each !== "").join(" · ");
}

export function duration(seconds: number): string {
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 90) return `${whole} s`;
  return whole < 5400 ? `${Math.round(whole / 60)} min` : `${(whole / 3600).toFixed(1)} h`;
}
