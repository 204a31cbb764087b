// Builds the playground: node build.mjs FOLDER. The same sources give the same files.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const here = import.meta.dirname;
const root = join(here, "../../..");
const out = resolve(process.argv[2] ?? join(root, "dist/playground"));

/** Builds the engine, and returns it compressed. */
function engine() {
  const dir = mkdtempSync(join(tmpdir(), "sunset-playground-"));
  try {
    const file = join(dir, "engine.wasm");
    execFileSync("go", ["run", "./cmd/playground/build", "-o", file], { cwd: root, stdio: "inherit" });
    return execFileSync("zstd", ["--ultra", "-20", "--quiet", "--stdout", file], { maxBuffer: 2 ** 30 });
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Returns a TypeScript file with everything that it imports, as one script. */
async function bundle(file) {
  const result = await build({ entryPoints: [join(here, "src", file)], bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", write: false, legalComments: "none" });
  return result.outputFiles[0].text;
}

/** Returns the samples: each directory with a want.yaml. */
function samples(dir = join(root, "samples")) {
  const found = [];
  for (const entry of readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) found.push(...samples(path));
    if (entry.name === "want.yaml") found.push(sample(dir, readFileSync(path, "utf8")));
  }
  return found;
}

function sample(dir, want) {
  const value = (field) => new RegExp(`^${field}: (.*)$`, "m").exec(want)?.[1];
  const list = (field) => value(field)?.replace(/[[\]]/g, "").split(/,\s*/);
  const texts = (field, file) => (list(field) ?? [file]).map((name) => readFileSync(join(dir, name), "utf8")).join("\n---\n");
  const policies = texts("policies", "policy.yaml");
  const title = /^# (.*)$/m.exec(policies)?.[1] ?? "";
  const name = relative(join(root, "samples"), dir).replaceAll("\\", "/");
  return { name, title, policies, objects: texts("objects", "objects.yaml"), at: value("at"), asWritten: value("modes") === "asWritten", allowKinds: list("allowKinds") };
}

const goroot = execFileSync("go", ["env", "GOROOT"], { encoding: "utf8" }).trim();
const worker = readFileSync(join(goroot, "lib/wasm/wasm_exec.js"), "utf8") + (await bundle("worker.ts"));
const app = await bundle("main.ts");
const nonce = createHash("sha256").update(app).digest("base64url").slice(0, 22);
const files = {
  "index.html": readFileSync(join(here, "index.html"), "utf8").replaceAll("NONCE", nonce),
  "style.css": readFileSync(join(here, "style.css"), "utf8"),
  "samples.js": `var sunsetSamples = ${JSON.stringify(samples())};\n`,
  "app.js": app,
  "engine.js": `var sunsetEngine = ${JSON.stringify({ worker, wasm: engine().toString("base64") })};\n`,
};
mkdirSync(out, { recursive: true });
let [gzip, brotli] = [0, 0];
for (const [name, text] of Object.entries(files)) {
  writeFileSync(join(out, name), text);
  gzip += gzipSync(text, { level: 9 }).length;
  brotli += brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }).length;
}
const total = Object.keys(files).reduce((n, name) => n + statSync(join(out, name)).size, 0);
const mb = (n) => `${(n / 1e6).toFixed(2)} MB`;
console.log(`${out}: ${mb(total)}; over the network ${mb(gzip)} with gzip, ${mb(brotli)} with brotli`);
