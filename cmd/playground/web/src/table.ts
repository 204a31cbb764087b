import { el, fill } from "./dom";
import type { ObjectName, Verdict } from "./protocol";
import { away, count } from "./time";

const columns: { title: string; key: (v: Verdict) => string }[] = [
  { title: "Object", key: (v) => `${v.namespace ?? ""}/${v.kind}/${v.image ?? v.name}` },
  { title: "Action", key: (v) => v.action },
  { title: "Reason", key: (v) => v.reason },
  { title: "Due", key: (v) => v.dueTime ?? "9" },
  { title: "Rule", key: (v) => `${v.policy}/${v.rule}` },
];

/** Rows are shown in steps, because a browser needs seconds for ten thousand. */
const step = 200;

export function nameOf(v: Verdict): ObjectName {
  return { apiVersion: v.apiVersion ?? "", kind: v.kind, namespace: v.namespace ?? "", name: v.name };
}

export function isSame(a: ObjectName | undefined, b: ObjectName): boolean {
  return a !== undefined && a.kind === b.kind && a.namespace === b.namespace && a.name === b.name && a.apiVersion === b.apiVersion;
}

/** The table of verdicts, with a filter. Sorting and filtering need no new evaluation. */
export class Table {
  private verdicts: Verdict[] = [];
  private at = 0;
  private sorted = { column: -1, descending: false };
  private action = "";
  private text = "";
  private shown = step;
  selected?: ObjectName;

  private readonly chips = el("div", { class: "chips", role: "group", "aria-label": "Filter by action" });
  private readonly head = el("tr");
  private readonly body = el("tbody");
  private readonly more = el("div", { class: "more" });

  constructor(
    parent: HTMLElement,
    private readonly select: (object: ObjectName) => void,
  ) {
    const filter = el("input", {
      type: "search",
      placeholder: "Filter by name, namespace, reason or rule",
      "aria-label": "Filter the verdicts",
      input: (event) => {
        this.text = (event.target as HTMLInputElement).value.toLowerCase();
        this.refresh();
      },
    });
    const table = el("table", {}, el("caption", { class: "hidden" }, "Verdicts"), el("thead", {}, this.head), this.body);
    parent.append(el("div", { class: "filters" }, this.chips, filter), el("div", { class: "scroll" }, table), this.more);
  }

  show(verdicts: Verdict[], at: number): void {
    this.verdicts = verdicts;
    this.at = at;
    this.draw();
  }

  private refresh(): void {
    this.shown = step;
    this.draw();
  }

  private draw(): void {
    const matches = this.matching();
    this.drawChips();
    fill(this.head, ...columns.map((column, i) => this.header(column.title, i)));
    fill(this.body, ...matches.slice(0, this.shown).map((v) => this.row(v)));
    if (matches.length === 0) {
      const why = this.verdicts.length > 0 ? "No verdict matches the filter." : "No rule selects any object.";
      fill(this.body, el("tr", {}, el("td", { colspan: columns.length, class: "empty" }, why)));
    }
    const rest = matches.length - this.shown;
    const showMore = () => {
      this.shown += 5 * step;
      this.draw();
    };
    fill(this.more, rest > 0 && el("button", { type: "button", click: showMore }, `Show more of ${count(rest, "other verdict")}`));
  }

  private matching(): Verdict[] {
    const matches = this.verdicts.filter(
      (v) => (!this.action || v.action === this.action) && (!this.text || columns.some((c) => c.key(v).toLowerCase().includes(this.text))),
    );
    const column = columns[this.sorted.column];
    if (!column) return matches;
    const keyed = matches.map((v) => ({ v, key: column.key(v) }));
    const sign = this.sorted.descending ? -1 : 1;
    return keyed.sort((a, b) => sign * (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ v }) => v);
  }

  private drawChips(): void {
    const focused = this.chips.contains(document.activeElement) ? document.activeElement?.textContent?.split(" ")[0] : undefined;
    const chips = ["Delete", "Wait", "Keep"].map((action) => {
      const n = this.verdicts.filter((v) => v.action === action).length;
      const toggle = () => {
        this.action = this.action === action ? "" : action;
        this.refresh();
      };
      return el("button", { type: "button", class: `chip ${action}`, "aria-pressed": String(this.action === action), click: toggle }, `${action} ${n.toLocaleString("en")}`);
    });
    fill(this.chips, ...chips);
    chips.find((c) => c.textContent?.split(" ")[0] === focused)?.focus();
  }

  private header(title: string, i: number): HTMLElement {
    const isSorted = this.sorted.column === i;
    const direction = isSorted ? (this.sorted.descending ? "descending" : "ascending") : "none";
    const sort = () => {
      this.sorted = { column: i, descending: isSorted && !this.sorted.descending };
      this.refresh();
      this.head.querySelectorAll("button")[i]?.focus();
    };
    return el("th", { scope: "col", "aria-sort": direction }, el("button", { type: "button", click: sort }, title));
  }

  private row(v: Verdict): HTMLElement {
    const name = nameOf(v);
    const due = v.dueTime ? Date.parse(v.dueTime) : undefined;
    const isSelected = isSame(this.selected, name);
    const choose = () => {
      this.selected = name;
      this.body.querySelectorAll("tr.selected").forEach((row) => row.classList.remove("selected"));
      row.classList.add("selected");
      this.select(name);
    };
    const row = el(
      "tr",
      { class: isSelected ? "selected" : "", click: choose },
      el(
        "th",
        { scope: "row" },
        el("button", { type: "button", title: "Explain" }, v.image ?? v.name),
        el("small", {}, v.kind + (v.namespace ? ` in ${v.namespace}` : "")),
      ),
      el("td", {}, el("span", { class: `badge ${v.action}` }, v.action)),
      el("td", {}, v.reason, v.message && el("small", {}, v.message), v.owner && el("small", {}, `with its owner ${v.owner.kind}/${v.owner.name}`)),
      el("td", { class: "due" }, due === undefined ? "–" : away(due, this.at), v.dueTime && el("small", {}, v.dueTime)),
      el("td", {}, v.policy ? `${v.policy}/${v.rule}` : "–"),
    );
    return row;
  }
}
