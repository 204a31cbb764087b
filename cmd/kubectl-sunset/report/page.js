"use strict";
const units = " kMGTPE";
const collator = new Intl.Collator("en", { numeric: true });

// Cells without a value sort last.
const isEmpty = (text) => text === "" || text === "-";

function numberOf(text) {
  const [, number, unit] = /^([\d.]+)([kMGTPE]?)B?/.exec(text) ?? [0, 0, ""];
  return Number(number) * 1000 ** Math.max(units.indexOf(unit || " "), 0);
}

function sort(body, column, isNumber, descending) {
  const keyed = Array.from(body.rows, (row) => ({ row, text: row.cells[column].textContent }));
  const compare = isNumber ? (a, b) => numberOf(a) - numberOf(b) : (a, b) => collator.compare(a, b);
  keyed.sort((a, b) => isEmpty(a.text) - isEmpty(b.text) || (descending ? compare(b.text, a.text) : compare(a.text, b.text)));
  for (const { row } of keyed) body.append(row);
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort(table.tBodies[0], column, head.className === "number", descending);
    });
  });
}

function makeFilterable(table) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 10) return;
  const input = document.createElement("input");
  input.type = "search";
  const label = document.createElement("label");
  label.append("Filter ", input);
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  const bar = document.createElement("div");
  bar.className = "filter";
  bar.append(label, count);
  table.parentElement.before(bar);
  let texts;
  input.addEventListener("input", () => {
    texts ??= rows.map((row) => Array.from(row.cells, (cell) => cell.textContent).join("\n").toLowerCase());
    const words = input.value.toLowerCase().split(/\s+/);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      if (!row.hidden) shown++;
    });
    count.textContent = `${shown} of ${rows.length} rows`;
  });
}

for (const table of document.querySelectorAll("table")) {
  makeSortable(table);
  makeFilterable(table);
}
