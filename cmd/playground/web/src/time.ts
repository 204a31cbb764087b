// SPDX-License-Identifier: Apache-2.0
const units: [string, number][] = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1000]];

/** Formats a duration with its two largest units, such as 2d5h. */
export function span(ms: number): string {
  let rest = Math.abs(ms);
  let text = "";
  let parts = 0;
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    if (count > 0 || parts > 0) {
      if (count > 0) text += count + unit;
      rest -= count * size;
      if (++parts === 2) break;
    }
  }
  return text || "0s";
}

/** Formats the distance of a time from another one: in 3h, 2d5h ago, now. */
export function away(time: number, from: number): string {
  if (Math.abs(time - from) < 1000) return "now";
  return time > from ? `in ${span(time - from)}` : `${span(time - from)} ago`;
}

/** Formats a time as in policies and reports: RFC 3339 in UTC without fractions. */
export function format(time: number): string {
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Returns the nearest time that RFC 3339 can write. */
export function clamp(time: number): number {
  return Math.min(Math.max(time, Date.parse("0000-01-01T00:00:00Z")), Date.parse("9999-12-31T23:59:59Z"));
}

const written = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|[+-]\d\d:\d\d)?)?$/i;

/** Parses a date or time, which is in UTC if it names no zone; undefined if it is invalid. */
export function parse(text: string): number | undefined {
  const [, date, clock = "00:00", zone = "Z"] = written.exec(text.trim()) ?? [];
  const time = date ? Date.parse(`${date}T${clock}${zone.toUpperCase()}`) : NaN;
  return Number.isNaN(time) ? undefined : clamp(Math.floor(time / 1000) * 1000);
}

/** Plural of a noun after a number. */
export function count(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}
