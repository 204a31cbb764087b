import { byId, el, fill } from "./dom";
import { Editor } from "./editor";
import { Engine } from "./engine";
import { drawPage } from "./explain";
import { pack, type State, unpack } from "./link";
import type { File as TextFile, Problem, Response } from "./protocol";
import { Table } from "./table";
import { count, format, parse } from "./time";
import { drawTimeline, type Range, rangeOf } from "./timeline";

interface Sample {
  name: string;
  title: string;
  policies: string;
  objects: string;
  at: string;
  asWritten: boolean;
  allowKinds?: string[];
}

/** What samples.js contains. */
declare const sunsetSamples: Sample[];

const policyFile = "policy.yaml"; // as in cmd/playground/protocol.go
const objectsFile = "objects.yaml";
const pause = 150; // between the last key and the evaluation, in milliseconds
const largestShown = 300_000; // longer files are used, but not shown in the editor
const largestFile = 64 << 20; // as in cmd/playground/session.go
const steps = 1000; // of the slider

const timeInput = byId<HTMLInputElement>("time");
const slider = byId<HTMLInputElement>("slider");
const menu = byId<HTMLSelectElement>("samples");
const modes = byId<HTMLInputElement>("as-written");

let at = Math.floor(Date.now() / 1000) * 1000;
let range: Range = { from: at, to: at + 1 };
let keepsRange = false; // while a person moves through time, the range stays
let attached: TextFile[] = []; // files that are too long for the editor
let files: TextFile[] = [];
let allowKinds: string[] | undefined; // the protected kinds that the policies of a sample may target
let response: Response | undefined;
let explains = false; // an object was selected, and its explanation is not shown yet
let engine: Engine | undefined;
let timer = 0; // of the next evaluation; 0 if there is none
let linkTimer = 0;

const policies = new Editor(byId("policies"), "Policies and overrides, YAML", () => changed());
const objects = new Editor(byId("objects"), "Objects, YAML or JSON", () => {
  setFiles();
  changed();
});
const table = new Table(byId("verdicts"), () => {
  explains = true;
  evaluate();
});

function setFiles(): void {
  files = [{ name: objectsFile, text: objects.text }, ...attached];
  const chips = attached.map((file) => {
    const remove = () => {
      attached = attached.filter((other) => other !== file);
      setFiles();
      changed();
    };
    const size = `${(file.text.length / 1e6).toFixed(1)} MB`;
    return el("li", {}, `${file.name}, ${size} `, el("button", { type: "button", "aria-label": `Remove ${file.name}`, click: remove }, "Remove"));
  });
  fill(byId("files"), ...chips);
}

/** Evaluates when a person stops typing. */
function changed(): void {
  keepsRange = false;
  clearTimeout(timer);
  timer = window.setTimeout(evaluate, pause);
  showBusy();
}

function showBusy(): void {
  byId("results").setAttribute("aria-busy", String(timer !== 0 || engine === undefined || engine.isBusy));
}

function evaluate(): void {
  clearTimeout(timer);
  clearTimeout(linkTimer);
  timer = 0;
  linkTimer = window.setTimeout(() => void saveLink(), pause);
  engine?.ask({ policies: policies.text, files, at: format(at), asWritten: modes.checked, allowKinds, explain: table.selected });
  showBusy();
}

function show(answer: Response): void {
  showBusy();
  byId("results").classList.toggle("stale", answer.error !== undefined);
  const problems = answer.error ? [answer.error] : (answer.problems ?? []);
  policies.mark(problems.filter((p) => p.file === policyFile));
  objects.mark(problems.filter((p) => p.file === objectsFile));
  drawProblems(problems, answer);
  if (answer.error) {
    say("The input cannot be evaluated; see the problems. The verdicts are those of the input before.");
    return;
  }
  response = answer;
  const verdicts = answer.preview?.verdicts ?? [];
  if (!keepsRange) range = rangeOf(verdicts, at);
  draw();
  drawPage(byId("explanation"), answer.page, at);
  if (explains && answer.page) {
    byId("explanation").scrollIntoView({ block: "nearest" });
    explains = false;
  }
  const digests = answer.digests ? `${count(answer.digests, "digest")}, ` : "";
  say(`${count(answer.policies, "policy").replace("policys", "policies")}, ${digests}${count(answer.objects, "object")}, ${count(verdicts.length, "verdict")}`);
}

function draw(): void {
  const verdicts = response?.preview?.verdicts ?? [];
  table.show(verdicts, at);
  drawTimeline(byId("timeline"), verdicts, range, at);
  slider.value = String(Math.round(((at - range.from) / (range.to - range.from)) * steps));
  slider.setAttribute("aria-valuetext", format(at));
  timeInput.value = format(at);
}

function drawProblems(problems: Problem[], answer: Response): void {
  const places = problems.map((p) => {
    const place = p.file ? `${p.file}${p.fileLine ? `:${p.fileLine}` : ""}` : "";
    const editor = p.file === policyFile ? policies : p.file === objectsFile ? objects : undefined;
    const goTo = () => editor?.goTo(p.fileLine ?? 1);
    return el(
      "li",
      { class: p.warning ? "warning" : "error" },
      editor ? el("button", { type: "button", click: goTo }, place) : place,
      ` ${p.warning ? "warning: " : ""}${p.policy ? `${p.policy}: ` : ""}${p.path ? `${p.path}: ` : ""}${p.message}`,
      p.hint && el("small", {}, `Hint: ${p.hint}`),
    );
  });
  const failures = (answer.preview?.errors ?? []).slice(0, 20).map((f) => {
    const where = [f.policy && `${f.policy}/${f.rule}`, f.name && `${f.namespace ? `${f.namespace}/` : ""}${f.name}`].filter(Boolean).join(", ");
    return el("li", { class: "error" }, where ? `${where}: ${f.message}` : f.message);
  });
  const more = (answer.preview?.errors.length ?? 0) - failures.length;
  if (more > 0) failures.push(el("li", { class: "error" }, `and ${count(more, "more error")}`));
  const notes = (answer.notes ?? []).map((note) => el("li", { class: "warning" }, note));
  fill(byId("problems"), ...places, ...failures, ...notes);
}

function say(text: string): void {
  fill(byId("status"), text);
}

function setTime(time: number): void {
  at = Math.round(time / 1000) * 1000;
  keepsRange = at >= range.from && at <= range.to;
  draw();
  evaluate();
}

function currentSample(): Sample | undefined {
  return sunsetSamples.find((s) => s.name === menu.value);
}

function stateOf(): State {
  const sample = currentSample();
  const isUnchanged = sample && sample.policies === policies.text && sample.objects === objects.text;
  const texts = isUnchanged ? { sample: sample.name } : { policies: policies.text, objects: objects.text, allowKinds };
  return { ...texts, at: format(at), explain: table.selected, ...(modes.checked && { asWritten: true }) };
}

/** Writes the state to the fragment of the address, which browsers do not send to a server. */
async function saveLink(): Promise<void> {
  const fragment = attached.length > 0 ? undefined : await pack(stateOf());
  history.replaceState(null, "", `#${fragment ?? ""}`);
  byId("link").toggleAttribute("disabled", fragment === undefined);
  byId("link").title = fragment === undefined ? "The objects are too large for a link" : "The link contains the policies and objects";
}

async function copyLink(): Promise<void> {
  await saveLink();
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link was copied. It contains the policies and objects.");
  } catch {
    say("The browser does not allow copying. Copy the address of the page instead.");
  }
}

async function openLink(): Promise<boolean> {
  const state = location.hash.length > 1 ? await unpack(location.hash.slice(1)) : undefined;
  if (!state) return false;
  const sample = sunsetSamples.find((s) => s.name === state.sample);
  menu.value = sample?.name ?? "";
  allowKinds = state.allowKinds ?? sample?.allowKinds;
  load(state.policies ?? sample?.policies ?? "", state.objects ?? sample?.objects ?? "", parse(state.at ?? sample?.at ?? ""), state.asWritten ?? false);
  table.selected = state.explain;
  return true;
}

function load(policyText: string, objectText: string, time: number | undefined, asWritten: boolean): void {
  policies.text = policyText;
  objects.text = objectText;
  attached = [];
  table.selected = undefined;
  modes.checked = asWritten;
  at = time ?? at;
  setFiles();
  changed();
}

function openSample(): void {
  const sample = currentSample();
  if (!sample) return;
  allowKinds = sample.allowKinds;
  load(sample.policies, sample.objects, parse(sample.at), sample.asWritten);
}

/** Reads a file as kubectl sunset does: UTF-16 if it begins with the byte order mark, which PowerShell writes. */
async function read(file: File): Promise<TextFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const mark = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
  const encoding = mark === 0xfffe ? "utf-16le" : mark === 0xfeff ? "utf-16be" : "utf-8";
  return { name: file.name, text: new TextDecoder(encoding).decode(bytes) };
}

/** Reads files: into the editor if they fit, and otherwise beside it. */
async function readFiles(list: Iterable<File>, editor: Editor): Promise<void> {
  const texts: TextFile[] = [];
  for (const file of list) {
    if (file.size > largestFile) {
      say(`${file.name} has ${Math.round(file.size / 1e6)} MB; the playground accepts at most 64 MB. Use kubectl sunset preview.`);
      return;
    }
    try {
      texts.push(await read(file));
    } catch {
      say(`${file.name} cannot be read. If it is a directory, choose the files in it.`);
      return;
    }
  }
  if (editor === policies) allowKinds = undefined;
  const isShort = texts.reduce((n, { text }) => n + text.length, 0) <= largestShown;
  if (isShort) {
    editor.text = texts.map(({ text }) => text).join("\n---\n");
  } else {
    if (editor === objects) editor.text = "# The objects are in the files below.\n";
    attached = [...attached, ...texts];
  }
  menu.value = "";
  setFiles();
  changed();
}

function listenForFiles(name: string, editor: Editor): void {
  const pane = byId(`${name}-pane`);
  const input = byId<HTMLInputElement>(`${name}-file`);
  byId(`${name}-open`).addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    void readFiles(input.files ?? [], editor).then(() => (input.value = ""));
  });
  pane.addEventListener(
    "paste",
    (event) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (text.length <= largestShown) return;
      event.preventDefault();
      event.stopPropagation();
      void readFiles([new File([text], "pasted.yaml")], editor);
    },
    true,
  );
  pane.addEventListener("dragover", (event) => event.preventDefault());
  pane.addEventListener(
    "drop",
    (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      event.stopPropagation();
      void readFiles(event.dataTransfer.files, editor);
    },
    true,
  );
}

function fillMenu(): void {
  const options = (isTest: boolean) =>
    sunsetSamples.filter((s) => s.name.startsWith("combining/") === isTest).map((s) => el("option", { value: s.name, title: s.title }, s.name));
  fill(
    menu,
    el("option", { value: "" }, "Choose a sample"),
    el("optgroup", { label: "Samples" }, ...options(false)),
    el("optgroup", { label: "Several rules" }, ...options(true)),
  );
}

function listen(): void {
  slider.addEventListener("input", () => setTime(range.from + (Number(slider.value) / steps) * (range.to - range.from)));
  timeInput.addEventListener("change", () => {
    const time = parse(timeInput.value);
    timeInput.setAttribute("aria-invalid", String(time === undefined));
    if (time === undefined) say("The time must be like 2026-03-01T12:00:00Z.");
    else setTime(time);
  });
  byId("now").addEventListener("click", () => setTime(Date.now()));
  modes.addEventListener("change", changed);
  menu.addEventListener("change", openSample);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("results").focus();
  });
  byId("link").addEventListener("click", () => void copyLink());
  window.addEventListener("hashchange", () => void openLink());
  listenForFiles("policies", policies);
  listenForFiles("objects", objects);
}

async function start(): Promise<void> {
  fillMenu();
  listen();
  drawPage(byId("explanation"), undefined, at);
  say("Loading the engine …");
  if (!(await openLink())) {
    menu.value = "finished-jobs";
    openSample();
  }
}

void start();
// The engine is in the last script of the page, so that the editors show first.
window.addEventListener("DOMContentLoaded", () => {
  engine = new Engine(show, (message) => {
    showBusy();
    byId("results").classList.add("stale");
    say(message);
  });
  evaluate();
});
