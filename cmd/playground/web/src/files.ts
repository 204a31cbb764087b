// SPDX-License-Identifier: Apache-2.0
import type { File as TextFile } from "./protocol";

/** How many bytes files may have together, as in cmd/playground/session.go. */
const largest = 64 << 20;

/** Reads a file as kubectl sunset does: UTF-16 if it begins with the byte order mark, which PowerShell writes. */
async function read(file: File): Promise<TextFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const mark = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
  const encoding = mark === 0xfffe ? "utf-16le" : mark === 0xfeff ? "utf-16be" : "utf-8";
  return { name: file.name, text: new TextDecoder(encoding).decode(bytes) };
}

/** Reads files. It throws an Error with a message for a person if they are too large or cannot be read. */
export async function readFiles(list: File[]): Promise<TextFile[]> {
  const texts: TextFile[] = [];
  let size = 0;
  for (const file of list) {
    size += file.size;
    if (size > largest) {
      const what = list.length > 1 ? `The files up to ${file.name} have` : `${file.name} has`;
      throw new Error(`${what} ${Math.round(size / 1e6)} MB; the playground accepts at most 64 MB. Use kubectl sunset preview.`);
    }
    try {
      texts.push(await read(file));
    } catch {
      throw new Error(`${file.name} cannot be read. If it is a directory, choose the files in it.`);
    }
  }
  return texts;
}

/** Returns the file with a name that is not taken, because problems name their file. */
export function rename(file: TextFile, taken: string[]): TextFile {
  let name = file.name;
  for (let n = 2; taken.includes(name); n++) name = `${n}-${file.name}`;
  return { ...file, name };
}

/** Listens for files that a person chooses, drops or pastes in a pane. Text that is longer than a limit is pasted as a file. */
export function listenForFiles(pane: HTMLElement, longest: number, open: (files: File[]) => void): void {
  const input = pane.querySelector<HTMLInputElement>("input[type=file]")!;
  pane.querySelector("button")!.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    const chosen = [...(input.files ?? [])];
    input.value = ""; // so that the same file can be chosen again
    open(chosen);
  });
  const take = (event: Event, files: File[]) => {
    event.preventDefault();
    event.stopPropagation();
    open(files);
  };
  const paste = (event: ClipboardEvent) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length > longest) take(event, [new File([text], "pasted.yaml")]);
  };
  const drop = (event: DragEvent) => {
    if (hasFiles(event)) take(event, [...event.dataTransfer!.files]);
  };
  pane.addEventListener("paste", paste, true);
  pane.addEventListener("drop", drop, true);
}

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/** Ignores files that are dropped beside the panes. Otherwise, the browser would show them instead of the page. */
export function ignoreOtherFiles(): void {
  const ignore = (event: DragEvent) => {
    if (hasFiles(event)) event.preventDefault();
  };
  window.addEventListener("dragover", ignore);
  window.addEventListener("drop", ignore);
}
