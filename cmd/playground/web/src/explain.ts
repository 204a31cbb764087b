// SPDX-License-Identifier: Apache-2.0
import { el, fill } from "./dom";
import type { Expression, ObjectName, Page, Rank, Referrer, Rule, Setting, Vote } from "./protocol";
import { count, format, span } from "./time";

/** Shows why an object is deleted or kept, with the value of each part of each expression. selected may have no page. */
export function drawPage(parent: HTMLElement, page: Page | undefined, selected: ObjectName | undefined, at: number): void {
  if (!page) {
    const why = selected
      ? `There is no explanation for ${selected.kind} ${selected.name}: it is not among the objects, or has a problem. Select another object in the table.`
      : "Select an object in the table to see why Sunset deletes or keeps it.";
    fill(parent, el("p", { class: "empty" }, why));
    return;
  }
  const { object, verdict } = page;
  const created = object.creationTimestamp ? Date.parse(object.creationTimestamp) : undefined;
  const age = created !== undefined && (created > at ? `; created later, at ${format(created)}` : `; ${span(at - created)} old`);
  fill(
    parent,
    el("h3", {}, `${object.kind} ${object.namespace ? `${object.namespace}/` : ""}${object.name}`),
    el("p", {}, el("span", { class: `badge ${verdict.action}` }, verdict.action), ` ${verdict.message}`, age),
    page.owner && el("p", {}, `${page.owner.message} (${page.owner.propagationPolicy})`),
    ...page.rules.map(drawRule),
    ...list("Referenced by", page.references && referrers(page.references)),
    ...list("Refers to objects that do not exist", page.targets && missing(page.targets)),
    ...list("Selects", page.selected && selections(page.selected)),
    ...list(
      page.rules.length > 0 ? "Other rules for its kind" : "No rule selects it, because",
      page.otherRules.map((o) => `${o.policy}/${o.rule}: ${o.message} (${o.why})`),
    ),
    ...list("Blocked by", [...new Set(page.blocks.map((b) => `${b.reason}: ${b.message}`))]),
    ...list("Possible changes", page.changes.filter((c) => c.what).map((c) => c.what + effect(c, at))),
  );
}

function effect(change: Page["changes"][number], at: number): string {
  if (change.stays) return ": it would stay";
  if (!change.at) return "";
  const when = Date.parse(change.at);
  return when <= at ? ": it would be deleted now" : `: it would expire at ${format(when)}`;
}

function list(title: string, items: string[] | undefined): HTMLElement[] {
  if (!items || items.length === 0) return [];
  return [el("h4", {}, title), el("ul", {}, ...items.map((item) => el("li", {}, item)))];
}

function objects(all: Referrer[], more: number): string[] {
  const names = all.map((r) => `${r.kind} ${r.namespace ? `${r.namespace}/` : ""}${r.name}`);
  if (more > 0) names.push(`and ${more} more`);
  return names;
}

function referrers({ by, count, unknown }: NonNullable<Page["references"]>): string[] {
  const all = objects(by, count - by.length);
  if (unknown) all.push(`there may be more: ${unknown}`);
  return all.length > 0 ? all : ["nothing"];
}

function missing(targets: NonNullable<Page["targets"]>): string[] {
  const all = objects(targets.missing, targets.more ?? 0);
  if (targets.unknown) all.push(`this is uncertain: ${targets.unknown}`);
  return all.length > 0 ? all : [`none of ${targets.count}`];
}

function selections({ count, unknown }: NonNullable<Page["selected"]>): string[] {
  const all = [`${count} Pods and Pod templates`];
  if (unknown) all.push(`this is uncertain: ${unknown}`);
  return all;
}

function settings(all: Setting[]): string[] {
  return all.map((s) => `${s.name} ${s.value}${s.from ? ` from ${s.from}` : ""}${s.note ? `; ${s.note}` : ""}`);
}

function says(vote: Vote): string {
  return vote.says === "due" && vote.dueTime ? `due at ${format(Date.parse(vote.dueTime))}` : `${vote.says}: ${vote.reason}`;
}

/** What the rule would say if the dry runs of RetentionPolicies were enforced. */
function ifEnforced(of: Rule["ifEnforced"]): string[] {
  if (!of) return [];
  return [`if RetentionPolicy ${of.retentionPolicies.join(" and ")} were enforced: ${[says(of), ...settings(of.settings)].join("; ")}`];
}

function drawRule(rule: Rule): HTMLElement {
  return el(
    "section",
    { class: "rule" },
    el("h4", {}, `${rule.policy}/${rule.rule}`, el("small", {}, ` mode ${rule.mode}`)),
    el("p", {}, "says ", el("strong", {}, says(rule))),
    ...(rule.problems ?? []).map((p) => el("p", { class: "error" }, p)),
    el("ul", { class: "plain" }, ...[...settings(rule.settings), ...places(rule.rank), ...ifEnforced(rule.ifEnforced)].map((text) => el("li", {}, text))),
    rule.expressions.length > 0 &&
      el(
        "table",
        { class: "values" },
        el("caption", { class: "hidden" }, `Values of the expressions of rule ${rule.policy}/${rule.rule}`),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Expression"), el("th", { scope: "col" }, "Value"))),
        el("tbody", {}, ...rule.expressions.flatMap(drawExpression)),
      ),
  );
}

function places(rank: Rank | undefined): string[] {
  const texts = [];
  const stay = (n: number) => (n === 1 ? "1 stays" : `${n} stay`);
  if (rank?.keep && rank.place) {
    texts.push(`rank ${rank.place} of ${rank.of}${rank.group ? ` in group "${rank.group}"` : ""}; the newest ${stay(rank.keep)}`);
  }
  if (rank?.capacity) {
    const { count: n, max, allNamespaces } = rank.capacity;
    texts.push(`${count(n, "eligible object")}${allNamespaces ? " in all namespaces" : ""}; at most ${stay(max)}`);
  }
  return texts;
}

function drawExpression(e: Expression): HTMLElement[] {
  const head = drawValue(`${e.field}${e.tag ? ` (${e.tag})` : ""}: `, e.text, 0, e);
  return [head, ...(e.parts ?? []).map((part) => drawValue("", part.text, part.depth + 1, part))];
}

function drawValue(field: string, text: string, depth: number, of: { value?: string; error?: string; skipped?: boolean }): HTMLElement {
  const value = of.skipped ? el("em", {}, "not needed") : of.error ? el("span", { class: "error" }, of.error) : el("code", {}, of.value ?? "");
  const cell = el("th", { scope: "row" }, field && el("b", {}, field), el("code", {}, text));
  cell.style.setProperty("--depth", String(Math.min(depth, 12)));
  return el("tr", {}, cell, el("td", {}, value));
}
