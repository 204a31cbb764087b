// SPDX-License-Identifier: Apache-2.0
// The settings of the site. cmd/playground/site builds it from a copy of docs, in which README.md is index.md.
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { defineConfig, type DefaultTheme, type MarkdownOptions } from "vitepress";

const repository = "https://github.com/sunset-k8s/sunset";

/** Returns the sections of the first page, and the pages that they list. */
function sidebar(): DefaultTheme.SidebarItem[] {
  const sections: { text: string; items: DefaultTheme.SidebarItem[] }[] = [];
  for (const line of readFileSync("index.md", "utf8").split("\n")) {
    const section = /^## (.*)$/.exec(line);
    if (section) sections.push({ text: section[1], items: [] });
    for (const [, text, page] of line.matchAll(/\[([^\]]+)\]\((\w[\w/-]*)\.md\)/g)) {
      sections.at(-1)?.items.push({ text, link: `/${page.replace(/README$/, "")}` });
    }
  }
  return sections;
}

/** The anchor of a heading, as on GitHub. */
const slugify = (heading: string) => heading.trim().toLowerCase().replace(/[^\p{L}\p{M}\p{Nd}\p{Pc}\- ]/gu, "").replaceAll(" ", "-");

/** Makes links and diagrams that work on GitHub work on the site, and text with {{ text: the generator would evaluate it. */
const config: MarkdownOptions["config"] = (md) => {
  md.disable("emoji"); // names between colons are text
  md.core.ruler.push("github", ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === "code_inline") token.attrSet("v-pre", "");
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (!href || /^([a-z]+:|#)/.test(href)) continue;
      const file = posix.join("docs", posix.dirname(env.relativePath), href);
      if (!file.startsWith("docs/")) token.attrSet("href", `${repository}/blob/main/${file}`);
      else if (/\breports\/[^#]*\.html$/.test(file)) token.attrSet("target", "_self"); // not a page of the generator
      else token.attrSet("href", href.replace(/README\.md/, "index.md"));
    }
  });
  const { text, fence } = md.renderer.rules;
  md.renderer.rules.text = (...args) => text!(...args).replaceAll("{{", "&#123;&#123;");
  md.renderer.rules.fence = (tokens, i, ...more) => {
    const { info, content } = tokens[i];
    return info === "mermaid" ? `<Diagram text="${md.utils.escapeHtml(content)}" />\n` : fence!(tokens, i, ...more);
  };
};

export default defineConfig({
  lang: "en",
  title: "Sunset",
  description: "Sunset deletes Kubernetes objects that you no longer need, at the time that a policy sets.",
  head: [["link", { rel: "icon", href: "data:," }]],
  ignoreDeadLinks: true, // a test checks the links and anchors of the built site
  markdown: { attrs: { disable: true }, anchor: { slugify }, config, theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } },
  themeConfig: {
    nav: [
      { text: "Quickstart", link: "/quickstart" },
      { text: "Playground", link: "/playground/index.html", target: "_self" },
      { text: "Reports", link: "/reports/" },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: repository }],
  },
});
