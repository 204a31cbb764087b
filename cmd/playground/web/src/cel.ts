// SPDX-License-Identifier: Apache-2.0
import { yamlLanguage } from "@codemirror/lang-yaml";
import { LanguageSupport, StreamLanguage, type StringStream } from "@codemirror/language";
import { NodeType, type PartialParse, parseMixed, Tree } from "@lezer/common";

const words = /^(true|false|null|in)\b/;

/** The tokens of CEL. Comments and all strings of CEL are one token each, except for triple quotes. */
const cel = StreamLanguage.define({
  name: "cel",
  token(stream: StringStream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^\/\/.*/)) return "comment";
    if (stream.match(/^[rRbB]{0,2}("([^"\\]|\\.)*"?|'([^'\\]|\\.)*'?)/)) return "string";
    if (stream.match(/^\d[\w.]*/)) return "number";
    if (stream.match(words)) return "keyword";
    if (stream.match(/^[A-Za-z_]\w*(?=\s*\()/)) return "variableName.function";
    if (stream.match(/^(object|node|references|variables)\b/)) return "variableName.special";
    if (stream.match(/^[A-Za-z_]\w*/)) return "variableName";
    if (stream.match(/^[-+*/%=!<>&|?:.]+/)) return "operator";
    stream.next();
    return null;
  },
});

/** The fields of policies that contain CEL. */
const fields = /^(eligible|startTime|ttlExpression|groupBy|outcome|bytes|expression|names)$/;

const celInFields = parseMixed((node, input) => {
  if (!["Literal", "QuotedLiteral", "BlockLiteralContent"].includes(node.name)) return null;
  const pair = node.name === "BlockLiteralContent" ? node.node.parent?.parent : node.node.parent;
  const key = pair?.name === "Pair" ? pair.getChild("Key") : null;
  if (!key || !fields.test(input.read(key.from, key.to))) return null;
  const quoted = node.name === "QuotedLiteral" ? 1 : 0;
  return { parser: cel.parser, overlay: [{ from: node.from + quoted, to: Math.max(node.from + quoted, node.to - quoted) }] };
});

/** How many nodes of a tree may contain each other. No object needs as many. */
const deepest = 500;

function isTooDeep(tree: Tree): boolean {
  let depth = 0;
  let tooDeep = false;
  tree.iterate({
    enter() {
      tooDeep ||= ++depth > deepest;
      return !tooDeep; // skips the rest of the tree
    },
    leave() {
      depth--;
    },
  });
  return tooDeep;
}

/** Gives no tree for a text that is nested too deeply: the stack may be too small for the parser, or for what shows the tree. */
function limitDepth(parse: PartialParse, length: number): PartialParse {
  const nothing = new Tree(NodeType.none, [], [], length);
  return {
    get parsedPos() {
      return parse.parsedPos;
    },
    get stoppedAt() {
      return parse.stoppedAt;
    },
    stopAt: (pos) => parse.stopAt(pos),
    advance() {
      try {
        const tree = parse.advance();
        return tree && isTooDeep(tree) ? nothing : tree;
      } catch {
        return nothing; // otherwise the editor would throw this, and keep its old text
      }
    },
  };
}

/** YAML with CEL in the fields of policies that contain it. A text that is nested too deeply has no colors. */
export function yamlWithCEL(): LanguageSupport {
  const language = yamlLanguage.configure({
    wrap: (parse, input, fragments, ranges) => limitDepth(celInFields(parse, input, fragments, ranges), input.length),
  });
  return new LanguageSupport(language);
}
