// SPDX-License-Identifier: Apache-2.0
import { el, fill } from "./dom";
import type { Editor } from "./editor";
import type { Problem, Response } from "./protocol";
import { count } from "./time";

const longest = 100; // of the lists of problems and errors

function drawProblem(p: Problem, editor: Editor | undefined): HTMLElement {
  const place = p.file ? `${p.file}${p.fileLine ? `:${p.fileLine}` : ""}` : "";
  const goTo = () => editor?.goTo(p.fileLine ?? 1);
  return el(
    "li",
    { class: p.warning ? "warning" : "error" },
    editor ? el("button", { type: "button", click: goTo }, place) : place,
    ` ${p.warning ? "warning: " : ""}${p.policy ? `${p.policy}: ` : ""}${p.path ? `${p.path}: ` : ""}${p.message}`,
    p.hint && el("small", {}, `Hint: ${p.hint}`),
  );
}

/** Returns the first elements of a list, and how many follow. */
function first<T>(all: T[], draw: (one: T) => HTMLElement, noun: string): HTMLElement[] {
  const drawn = all.slice(0, longest).map(draw);
  if (all.length > longest) drawn.push(el("li", { class: "error" }, `and ${count(all.length - longest, `more ${noun}`)}`));
  return drawn;
}

/** Shows problems of the input, errors of the evaluation and notes. editors are those of files that are shown. */
export function drawProblems(parent: HTMLElement, problems: Problem[], answer: Response, editors: Record<string, Editor>): void {
  const failures = first(
    answer.preview?.errors ?? [],
    (f) => {
      const where = [f.policy && `${f.policy}/${f.rule}`, f.name && `${f.namespace ? `${f.namespace}/` : ""}${f.name}`].filter(Boolean).join(", ");
      return el("li", { class: "error" }, where ? `${where}: ${f.message}` : f.message);
    },
    "error",
  );
  const notes = (answer.notes ?? []).map((note) => el("li", { class: "warning" }, note));
  fill(parent, ...first(problems, (p) => drawProblem(p, editors[p.file ?? ""]), "problem"), ...failures, ...notes);
}
