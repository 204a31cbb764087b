// SPDX-License-Identifier: Apache-2.0
import { el, fill, svg } from "./dom";
import type { Verdict } from "./protocol";
import { clamp, count, format } from "./time";

const width = 960;
const height = 120;
const bars = 60;
const series = 6; // the rules with most objects have a color each

export interface Range {
  from: number;
  to: number;
}

/** Returns when an object is due; NaN for one that is kept, for example by a hold. A dry run shows when it would delete the object. */
function dueOf(v: Verdict): number {
  return v.action === "Keep" && v.reason !== "DryRun" ? NaN : Date.parse(v.dueTime ?? "");
}

/** Returns a range of time that contains the given time and all due times. */
export function rangeOf(verdicts: Verdict[], at: number): Range {
  let [from, to] = [at, at];
  for (const v of verdicts) {
    const due = dueOf(v);
    if (Number.isNaN(due)) continue;
    from = Math.min(from, due);
    to = Math.max(to, due);
  }
  const margin = Math.max((to - from) * 0.04, 3_600_000);
  return { from: clamp(from - margin), to: clamp(to + margin) };
}

/** Draws when objects are due, by rule, and the time of the verdicts. */
export function drawTimeline(parent: HTMLElement, verdicts: Verdict[], range: Range, at: number): void {
  const rules = new Map<string, number[]>();
  for (const v of verdicts) {
    const due = dueOf(v);
    if (Number.isNaN(due)) continue;
    const place = (due - range.from) / (range.to - range.from);
    const bar = Math.min(Math.max(Math.floor(place * bars), 0), bars - 1);
    const name = `${v.policy}/${v.rule}`;
    if (!rules.has(name)) rules.set(name, Array<number>(bars).fill(0));
    rules.get(name)![bar]++;
  }
  const sum = (of: number[]) => of.reduce((a, b) => a + b, 0);
  const all = [...rules].sort((a, b) => sum(b[1]) - sum(a[1]));
  const tallest = Math.max(1, ...Array.from({ length: bars }, (_, i) => all.reduce((n, [, of]) => n + of[i], 0)));

  const drawn: SVGElement[] = [];
  const size = width / bars;
  for (let i = 0; i < bars; i++) {
    let below = height;
    all.forEach(([name, of], rule) => {
      if (of[i] === 0) return;
      const tall = Math.max((of[i] / tallest) * (height - 12), 2);
      below -= tall;
      const when = format(range.from + (i / bars) * (range.to - range.from));
      drawn.push(
        svg(
          "rect",
          { x: i * size + 1, y: below, width: size - 2, height: tall, class: `series s${Math.min(rule, series - 1)}` },
          svg("title", {}, `${name}: ${count(of[i], "object")} due about ${when}`),
        ),
      );
    });
  }
  const x = ((at - range.from) / (range.to - range.from)) * width;
  const label = `${count(all.reduce((n, [, of]) => n + sum(of), 0), "object")} with a due time, from ${format(range.from)} to ${format(range.to)}`;
  fill(
    parent,
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      svg("rect", { x: 0, y: 0, width: Math.max(Math.min(x, width), 0), height, class: "past" }),
      ...drawn,
      svg("line", { x1: x, x2: x, y1: 0, y2: height, class: "now" }),
      svg("line", { x1: 0, x2: width, y1: height, y2: height, class: "axis" }),
    ),
  );
  const names = all.slice(0, series).map(([name], i) => {
    const isLast = i === series - 1 && all.length > series;
    return el("li", {}, el("span", { class: `swatch s${i}` }), isLast ? `${all.length - series + 1} other rules` : name);
  });
  parent.append(el("ul", { class: "legend", "aria-label": "Rules" }, ...names));
}
