// SPDX-License-Identifier: Apache-2.0
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, Transaction } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { yamlWithCEL } from "./cel";
import type { Problem } from "./protocol";

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.content], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.keyword, tags.null], color: "var(--code-keyword)" },
  { tag: [tags.lineComment, tags.comment, tags.meta], color: "var(--code-comment)" },
  { tag: tags.function(tags.variableName), color: "var(--code-function)" },
  { tag: [tags.special(tags.variableName), tags.variableName], color: "var(--code-variable)" },
  { tag: [tags.operator, tags.separator, tags.punctuation], color: "var(--code-operator)" },
]);

/** An editor for YAML. It calls changed when a person changes the text. */
export class Editor {
  private readonly view: EditorView;

  constructor(parent: HTMLElement, label: string, changed: () => void) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          EditorView.cspNonce.of(document.body.dataset.nonce ?? ""),
          lineNumbers(),
          foldGutter(),
          lintGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap]),
          yamlWithCEL(),
          syntaxHighlighting(colors),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((t) => t.annotation(Transaction.userEvent) === "set")) changed();
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Replaces the text without a call of changed. */
  set text(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, userEvent: "set", scrollIntoView: true });
  }

  focus(): void {
    this.view.focus();
  }

  /** Marks the places of problems. */
  mark(problems: Problem[]): void {
    this.view.dispatch(setDiagnostics(this.view.state, problems.map((p) => this.diagnostic(p))));
  }

  /** Moves the cursor to a line, and shows it. */
  goTo(line: number): void {
    const { from } = this.view.state.doc.line(Math.min(Math.max(line, 1), this.view.state.doc.lines));
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    this.view.focus();
  }

  private diagnostic(p: Problem): Diagnostic {
    const doc = this.view.state.doc;
    const line = doc.line(Math.min(Math.max(p.fileLine ?? 1, 1), doc.lines));
    const start = line.from + /^[\s-]*/.exec(line.text)![0].length;
    let from = start;
    if (p.column) {
      // The expression starts after the name of its field, or with the line if it has several lines.
      const field = /^[\s-]*(?:[\w.-]+:\s*)?(?:[>|][+-]?\s*)?["']?/.exec(line.text)![0].length;
      from = Math.min(line.from + field + p.column - 1, line.to);
    }
    const rest = doc.sliceString(from, line.to);
    const length = p.column ? (/^\w+|^\S/.exec(rest)?.[0].length ?? rest.length) : rest.length;
    return {
      from,
      to: Math.max(from, Math.min(from + length, line.to)),
      severity: p.warning ? "warning" : "error",
      message: p.hint ? `${p.message}\nHint: ${p.hint}` : p.message,
    };
  }
}
