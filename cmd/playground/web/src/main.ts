// SPDX-License-Identifier: Apache-2.0
import { byId, el, fill } from "./dom";
import { Editor } from "./editor";
import { type Ask, Engine } from "./engine";
import { drawPage } from "./explain";
import { ignoreOtherFiles, listenForFiles, readFiles, rename } from "./files";
import { pack, type State, unpack } from "./link";
import { drawProblems } from "./problems";
import type { File as TextFile, Response } from "./protocol";
import { Table } from "./table";
import { clamp, count, format, parse } from "./time";
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
const firstSample = "finished-jobs";
const steps = 1000; // of the slider

const timeInput = byId<HTMLInputElement>("time");
const slider = byId<HTMLInputElement>("slider");
const menu = byId<HTMLSelectElement>("samples");
const modes = byId<HTMLInputElement>("as-written");

let at = Math.floor(Date.now() / 1000) * 1000;
let range: Range = { from: at, to: at + 1 };
let keepsRange = false; // while a person moves through time, the range stays
let attached: TextFile[] = []; // files that are too long for the editor
let files: TextFile[] | undefined; // the objects of the next evaluation; undefined if they have changed
let response: Response | undefined;
let explains = false; // an object was selected, and its explanation is not shown yet
let notice = ""; // what the status says besides the numbers, until the input changes
let engine: Engine | undefined;
let timer = 0; // of the next evaluation; 0 if there is none
let linkTimer = 0;
let saves = 0; // how often the link was written, or is being written

const policies = new Editor(byId("policies"), "Policies and overrides, YAML", () => changed());
const objects = new Editor(byId("objects"), "Objects, YAML or JSON", () => {
  files = undefined;
  changed();
});
const table = new Table(byId("verdicts"), () => {
  explains = true;
  evaluate();
});

/** How often the text of an editor was replaced or is being replaced. Reading a file takes time, and only the last one counts. */
const turns = new Map<Editor, number>();

/** Begins to replace the text of an editor. The result is whether nothing else has begun to replace it since then. */
function replace(editor: Editor): () => boolean {
  const turn = (turns.get(editor) ?? 0) + 1;
  turns.set(editor, turn);
  return () => turns.get(editor) === turn;
}

function attach(all: TextFile[]): void {
  attached = all;
  files = undefined;
  const chips = attached.map((file) => {
    const remove = () => {
      attach(attached.filter((other) => other !== file));
      changed();
      byId("objects-open").focus(); // the button is gone
    };
    const size = `${(file.text.length / 1e6).toFixed(1)} MB`;
    return el("li", {}, `${file.name}, ${size} `, el("button", { type: "button", "aria-label": `Remove ${file.name}`, click: remove }, "Remove"));
  });
  fill(byId("files"), ...chips);
}

/** Evaluates the input when a person stops typing. The engine keeps the objects, because it takes long to decode them again. */
function changed(): void {
  keepsRange = false;
  notice = "";
  clearTimeout(timer);
  timer = window.setTimeout(evaluate, pause);
  showBusy();
}

/** Whether the verdicts are not those of the input. */
function isBusy(): boolean {
  return timer !== 0 || engine === undefined || engine.isBusy;
}

function showBusy(): void {
  byId("results").setAttribute("aria-busy", String(isBusy()));
}

function evaluate(): void {
  clearTimeout(timer);
  clearTimeout(linkTimer);
  timer = 0;
  linkTimer = window.setTimeout(() => void saveLink(), pause);
  fill(byId("restart"));
  files ??= [{ name: objectsFile, text: objects.text }, ...attached];
  const allowKinds = sunsetSamples.find((s) => s.policies === policies.text)?.allowKinds; // only for policies as they are in a sample
  engine?.ask({ policies: policies.text, files, at: format(at), asWritten: modes.checked, allowKinds, explain: table.selected });
  showBusy();
}

/** Shows why there is no response, and offers to try again. */
function fail(message: string): void {
  showBusy();
  byId("results").classList.add("stale");
  say(`${message}${response ? " The verdicts are those of an earlier input." : ""}`);
  const restart = () => {
    byId("results").focus(); // the button is gone
    say("Starting the engine …");
    evaluate();
  };
  fill(byId("restart"), el("button", { type: "button", click: restart }, "Start the engine again"));
}

function show(answer: Response, request: Ask): void {
  showBusy();
  byId("results").classList.toggle("stale", answer.error !== undefined);
  const problems = answer.error ? [answer.error] : (answer.problems ?? []);
  if (!isBusy()) {
    policies.mark(problems.filter((p) => p.file === policyFile)); // otherwise the lines may be those of an earlier text
    objects.mark(problems.filter((p) => p.file === objectsFile));
  }
  drawProblems(byId("problems"), problems, answer, { [policyFile]: policies, [objectsFile]: objects });
  if (answer.error) {
    explains = false;
    say(`${notice}The input cannot be evaluated; see the problems.${response ? " The verdicts are those of an earlier input." : ""}`);
    return;
  }
  response = answer;
  const verdicts = answer.preview?.verdicts ?? [];
  const evaluatedAt = Date.parse(request.at); // the time may have changed since then
  if (!keepsRange) range = rangeOf(verdicts, at);
  table.show(verdicts, evaluatedAt);
  showTime();
  drawPage(byId("explanation"), answer.page, request.explain, evaluatedAt);
  if (explains && request.explain === table.selected) announce(answer);
  say(notice + summary(answer));
}

function summary(answer: Response): string {
  const policiesAndDigests = [count(answer.policies, "policy").replace("policys", "policies"), answer.digests && count(answer.digests, "digest")];
  const errors = answer.problems?.filter((p) => !p.warning).length;
  const numbers = [count(answer.objects, "object"), count(answer.preview?.verdicts.length ?? 0, "verdict"), errors && count(errors, "problem")];
  return [...policiesAndDigests, ...numbers].filter(Boolean).join(", ");
}

/** Shows the explanation of an object that was just selected, also to people who do not see it. */
function announce({ page }: Response): void {
  explains = false;
  if (!page) return;
  byId("explanation").scrollIntoView({ block: "nearest" });
  fill(byId("announcement"), `${page.object.kind} ${page.object.name}: ${page.verdict.action}. ${page.verdict.message}`);
}

/** Shows the time on the chart and the slider. */
function showTime(): void {
  drawTimeline(byId("timeline"), response?.preview?.verdicts ?? [], range, at);
  slider.value = String(Math.round(((at - range.from) / (range.to - range.from)) * steps));
  slider.setAttribute("aria-valuetext", format(at));
}

/** Shows the time in its field. A response does not do this, because a person may be typing there. */
function writeTime(): void {
  timeInput.value = format(at);
  timeInput.setAttribute("aria-invalid", "false");
}

/** Shows a text. The same text is not announced again. */
function say(text: string): void {
  if (byId("status").textContent !== text) fill(byId("status"), text);
}

function setTime(time: number): void {
  at = clamp(Math.round(time / 1000) * 1000);
  keepsRange = at >= range.from && at <= range.to;
  writeTime();
  evaluate();
  showTime();
}

function currentSample(): Sample | undefined {
  return sunsetSamples.find((s) => s.name === menu.value);
}

function stateOf(): State {
  const sample = currentSample();
  const isUnchanged = sample && sample.policies === policies.text && sample.objects === objects.text;
  const texts = isUnchanged ? { sample: sample.name } : { policies: policies.text, objects: objects.text };
  return { ...texts, at: format(at), explain: table.selected, ...(modes.checked && { asWritten: true }) };
}

/** Writes the state to the fragment of the address, which browsers do not send to a server. The result is whether it fits into a link. */
async function saveLink(): Promise<boolean> {
  const save = ++saves;
  const fragment = attached.length > 0 ? undefined : await pack(stateOf());
  if (save === saves) history.replaceState(null, "", `#${fragment ?? ""}`); // otherwise, a newer state is being written
  return fragment !== undefined;
}

async function copyLink(): Promise<void> {
  clearTimeout(linkTimer);
  if (!(await saveLink())) {
    say("The policies and objects are too large for a link.");
    return;
  }
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link was copied. Everyone who gets it can read the policies and objects.");
  } catch {
    say("The browser does not allow copying. Copy the address of the page instead. Everyone who gets it can read the policies and objects.");
  }
}

/** Shows the state of a link, if it has one. If the link is damaged, it says so, and leaves texts as they are. */
async function openLink(url: string): Promise<void> {
  const fragment = new URL(url).hash.slice(1);
  if (!fragment) return;
  const isLast = [replace(policies), replace(objects)];
  const state = await unpack(fragment);
  if (!isLast.every((is) => is())) return; // a person has chosen something else
  if (!state) {
    if (policies.text === "" && objects.text === "") openSample(firstSample);
    notice = "The link is damaged or too large, and is ignored. ";
    say(notice);
    return;
  }
  const sample = sunsetSamples.find((s) => s.name === state.sample);
  menu.value = sample?.name ?? "";
  load(state.policies ?? sample?.policies ?? "", state.objects ?? sample?.objects ?? "", parse(state.at ?? sample?.at ?? ""), state.asWritten ?? false);
  table.selected = state.explain;
}

function load(policyText: string, objectText: string, time: number | undefined, asWritten: boolean): void {
  replace(policies);
  replace(objects);
  policies.text = policyText;
  objects.text = objectText;
  attach([]);
  table.selected = undefined;
  modes.checked = asWritten;
  at = time ?? at;
  writeTime();
  changed();
}

function openSample(name: string): void {
  menu.value = name;
  const sample = currentSample();
  if (!sample) return;
  load(sample.policies, sample.objects, parse(sample.at), sample.asWritten);
}

/** Opens files: in the editor if they fit, and otherwise beside it. */
async function openFiles(list: File[], editor: Editor): Promise<void> {
  if (list.length === 0) return;
  const isLast = replace(editor);
  let texts: TextFile[];
  try {
    texts = await readFiles(list);
  } catch (error) {
    say((error as Error).message);
    return;
  }
  if (!isLast()) return;
  if (texts.reduce((n, { text }) => n + text.length, 0) <= largestShown) {
    editor.text = texts.map(({ text }) => text).join("\n---\n");
  } else {
    editor.text = "# The text is in the files below.\n";
    const all = [...attached];
    for (const file of texts) all.push(rename(file, [policyFile, objectsFile, ...all.map(({ name }) => name)]));
    attach(all);
  }
  menu.value = "";
  files = undefined;
  changed();
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
  menu.addEventListener("change", () => openSample(menu.value));
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("results").focus();
  });
  byId("link").addEventListener("click", () => void copyLink());
  window.addEventListener("hashchange", ({ newURL }) => void openLink(newURL)); // location may have an older state that was just saved
  for (const editor of [policies, objects]) {
    listenForFiles(byId(editor === policies ? "policies-pane" : "objects-pane"), largestShown, (list) => void openFiles(list, editor));
  }
  ignoreOtherFiles();
}

async function start(): Promise<void> {
  fillMenu();
  listen();
  drawPage(byId("explanation"), undefined, undefined, at);
  say("Loading the engine …");
  if (location.hash.length > 1) await openLink(location.href);
  else openSample(firstSample);
}

const started = start();
// The engine is in the last script of the page, so that the editors show first.
window.addEventListener("DOMContentLoaded", () => {
  engine = new Engine(show, fail);
  void started.then(evaluate);
});
