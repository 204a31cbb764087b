// SPDX-License-Identifier: Apache-2.0
// Elements are built from text only. No text is ever parsed as HTML, so input cannot add elements or scripts.

type Child = Node | string | number | undefined | null | false;
type Value = string | number | boolean | undefined | ((event: Event) => void);

function build<E extends Element>(element: E, attributes: Record<string, Value>, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((c) => c !== undefined && c !== null && c !== false).map((c) => (c instanceof Node ? c : String(c))));
  return element;
}

/** Returns an HTML element. An attribute with a function is a listener for the event of that name. */
export function el<T extends keyof HTMLElementTagNameMap>(tag: T, attributes: Record<string, Value> = {}, ...children: Child[]): HTMLElementTagNameMap[T] {
  return build(document.createElement(tag), attributes, children);
}

/** Returns an SVG element. */
export function svg(tag: string, attributes: Record<string, Value> = {}, ...children: Child[]): SVGElement {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag) as SVGElement, attributes, children);
}

/** Returns the element of the page with an id. */
export function byId<E extends HTMLElement>(id: string): E {
  return document.getElementById(id) as E;
}

/** Replaces the content of an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  build(element, {}, children);
}
