// SPDX-License-Identifier: Apache-2.0
import { el, fill } from "./dom";
import type { ObjectName, Verdict } from "./protocol";
import { away, count } from "./time";

const actions = ["Delete", "Wait", "Keep"];

/** The columns, with what sorts them. Rows without a value are last. */
const columns: { title: string; key: (v: Verdict) => string }[] = [
  { title: "Object", key: (v) => `${v.namespace ?? ""}/${v.kind}/${v.image ?? v.name}` },
  { title: "Action", key: (v) => v.action },
  { title: "Reason", key: (v) => v.reason },
  { title: "Due", key: (v) => v.dueTime ?? "" },
  { title: "Rule", key: (v) => ruleOf(v) },
];

const collator = new Intl.Collator("en", { numeric: true });

/** Rows are shown in steps, because a browser needs seconds for ten thousand. */
const step = 200;

function nameOf(v: Verdict): ObjectName {
  return { apiVersion: v.apiVersion ?? "", kind: v.kind, namespace: v.namespace ?? "", name: v.name };
}

function isSame(a: ObjectName | undefined, b: ObjectName): boolean {
  return a !== undefined && a.kind === b.kind && a.namespace === b.namespace && a.name === b.name && a.apiVersion === b.apiVersion;
}

function ruleOf(v: Verdict): string {
  return v.policy ? `${v.policy}/${v.rule}` : "";
}

/** What the filter searches: the text of the row. */
function textOf(v: Verdict): string {
  return [v.kind, v.namespace, v.image ?? v.name, v.action, v.reason, v.message, v.owner && `${v.owner.kind}/${v.owner.name}`, v.dueTime, ruleOf(v)].join("\n").toLowerCase();
}

/** Identifies a row. A node has a row for each of its images. */
function keyOf(v: Verdict): string {
  return JSON.stringify([v.apiVersion, v.kind, v.namespace, v.name, v.image]);
}

/**
 * The table of verdicts, with filters. A row must match the chosen action and all words. Filters, order and focus stay if the verdicts
 * change. Sorting and filtering need no new evaluation.
 */
export class Table {
  private verdicts: Verdict[] = [];
  private at = 0;
  private sorted = { column: -1, descending: false };
  private action = "";
  private words: string[] = [];
  private shown = step;
  selected?: ObjectName;

  private readonly chips = actions.map((action) => el("button", { type: "button", class: `chip ${action}`, click: () => this.toggle(action) }));
  private readonly heads = columns.map(({ title }, i) => el("th", { scope: "col" }, el("button", { type: "button", click: () => this.sortBy(i) }, title)));
  private readonly search: HTMLInputElement = el("input", {
    type: "search",
    placeholder: "Filter by name, namespace, reason or rule",
    "aria-label": "Filter the verdicts",
    input: () => this.find(this.search.value),
  });
  private readonly matches = el("span", { role: "status" });
  private readonly clear = el("button", { type: "button", click: () => this.showAll() }, "Show all verdicts");
  private readonly body = el("tbody");
  private readonly scroll = el(
    "div",
    { class: "scroll", tabindex: -1 },
    el("table", {}, el("caption", { class: "hidden" }, "Verdicts"), el("thead", {}, el("tr", {}, ...this.heads)), this.body),
  );
  private readonly more = el("div", { class: "more" });

  constructor(
    parent: HTMLElement,
    private readonly select: (object: ObjectName) => void,
  ) {
    const chips = el("div", { class: "chips", role: "group", "aria-label": "Filter by action" }, ...this.chips);
    parent.append(el("div", { class: "filters" }, chips, this.search), el("div", { class: "filters" }, this.matches, this.clear), this.scroll, this.more);
  }

  show(verdicts: Verdict[], at: number): void {
    this.verdicts = verdicts;
    this.at = at;
    this.draw();
  }

  private toggle(action: string): void {
    this.action = this.action === action ? "" : action;
    this.refresh();
  }

  private find(text: string): void {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.refresh();
  }

  private showAll(): void {
    this.action = this.search.value = "";
    this.find("");
    this.search.focus();
  }

  private sortBy(column: number): void {
    this.sorted = { column, descending: this.sorted.column === column && !this.sorted.descending };
    this.refresh();
  }

  private showMore(): void {
    const before = this.shown;
    this.shown += 5 * step;
    this.draw();
    this.buttons()[before]?.focus();
  }

  private refresh(): void {
    this.shown = step;
    this.draw();
  }

  private draw(): void {
    const matches = this.matching();
    this.drawControls(matches.length);
    const focused = document.activeElement instanceof HTMLElement && this.body.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
    fill(this.body, ...matches.slice(0, this.shown).map((v) => this.row(v)));
    if (matches.length === 0) {
      const why = this.verdicts.length > 0 ? "No verdict matches the filters." : "No rule selects any object.";
      fill(this.body, el("tr", {}, el("td", { colspan: columns.length, class: "empty" }, why)));
    }
    if (focused !== undefined) (this.buttons().find((b) => b.dataset.row === focused) ?? this.scroll).focus({ preventScroll: true });
    const rest = matches.length - this.shown;
    fill(this.more, rest > 0 && el("button", { type: "button", click: () => this.showMore() }, `Show more of ${count(rest, "other verdict")}`));
  }

  private buttons(): HTMLElement[] {
    return Array.from(this.body.querySelectorAll<HTMLElement>("th button"));
  }

  private matching(): Verdict[] {
    const matches = this.verdicts.filter((v) => {
      if (this.action && v.action !== this.action) return false;
      if (this.words.length === 0) return true;
      const text = textOf(v);
      return this.words.every((word) => text.includes(word));
    });
    const column = columns[this.sorted.column];
    if (!column) return matches;
    const sign = this.sorted.descending ? -1 : 1;
    const keyed = matches.map((v) => ({ v, key: column.key(v) }));
    keyed.sort((a, b) => Number(a.key === "") - Number(b.key === "") || sign * collator.compare(a.key, b.key));
    return keyed.map(({ v }) => v);
  }

  /** Shows the state of filters and order. The elements stay, so that they keep the focus. */
  private drawControls(matching: number): void {
    actions.forEach((action, i) => {
      this.chips[i].setAttribute("aria-pressed", String(this.action === action));
      this.chips[i].textContent = `${action} ${this.verdicts.filter((v) => v.action === action).length.toLocaleString("en")}`;
    });
    const direction = this.sorted.descending ? "descending" : "ascending";
    this.heads.forEach((head, i) => head.setAttribute("aria-sort", this.sorted.column === i ? direction : "none"));
    const isFiltered = this.action !== "" || this.words.length > 0;
    const text = isFiltered ? `The filters show ${matching.toLocaleString("en")} of ${count(this.verdicts.length, "verdict")}` : "";
    if (this.matches.textContent !== text) this.matches.textContent = text;
    this.clear.toggleAttribute("hidden", !isFiltered);
  }

  private row(v: Verdict): HTMLElement {
    const name = nameOf(v);
    const due = v.dueTime ? Date.parse(v.dueTime) : undefined;
    const choose = () => {
      this.selected = name;
      for (const other of this.body.rows) mark(other, other === row);
      this.select(name);
    };
    const row = el(
      "tr",
      { click: choose },
      el(
        "th",
        { scope: "row" },
        el("button", { type: "button", title: "Explain", "data-row": keyOf(v) }, v.image ?? v.name),
        el("small", {}, v.kind + (v.namespace ? ` in ${v.namespace}` : "")),
      ),
      el("td", {}, el("span", { class: `badge ${v.action}` }, v.action)),
      el("td", {}, v.reason, v.message && el("small", {}, v.message), v.owner && el("small", {}, `with its owner ${v.owner.kind}/${v.owner.name}`)),
      el("td", { class: "due" }, due === undefined ? "–" : away(due, this.at), v.dueTime && el("small", {}, v.dueTime)),
      el("td", {}, ruleOf(v) || "–"),
    );
    mark(row, isSame(this.selected, name));
    return row;
  }
}

/** Shows whether a row is selected. */
function mark(row: HTMLElement, isSelected: boolean): void {
  row.classList.toggle("selected", isSelected);
  if (isSelected) row.setAttribute("aria-current", "true");
  else row.removeAttribute("aria-current");
}
