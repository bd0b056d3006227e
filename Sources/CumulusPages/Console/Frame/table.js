// Tables: columns that sort by a click, and rows that stand one below the other on a phone.
//
// Called by every page with a list.

import { add, h } from "/console/kit.js";

const compare = new Intl.Collator("en", { numeric: true }).compare;

/// Columns are [title, cell, class, key]; a cell may be text or a node. `key` gives what the column
/// sorts by; by default it sorts by the text, and not at all without a title.
///
/// `row` gives the attributes of a row. `sort` takes the place of sorting in the browser: it holds
/// the title of the sorted column, whether it falls, and `by`, which is called with a title.
export function table(caption, columns, rows, empty, { row = () => ({}), sort } = {}) {
  if (rows.length === 0) return h("p", { class: "empty" }, empty);
  const lines = rows.map((item) => ({ item, element: h("tr", row(item),
    columns.map(([title, cell, kind]) => add(h("td", { class: kind,
      "data-label": typeof title === "string" && title ? title : undefined }), cell(item)))) }));
  const body = h("tbody", {}, lines.map(({ element }) => element));
  const heads = columns.map(([title, , kind, key], place) => {
    const head = h("th", { scope: "col", class: kind });
    if (title instanceof Node) return add(head, title);
    if (!title) return add(head, h("span", { class: "hidden" }, "Acts"));
    const run = () => {
      if (sort) return sort.by(title);
      const falls = head.getAttribute("aria-sort") === "ascending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falls ? "descending" : "ascending");
      body.append(...sorted(lines, place, key, kind, falls));
    };
    if (sort?.title === title) {
      head.setAttribute("aria-sort", sort.falls ? "descending" : "ascending");
    }
    return add(head, h("button", { type: "button", class: "sort", on: { click: run } }, title));
  });
  return h("div", { class: "scroll" }, h("table", {},
    h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, heads)), body));
}

function sorted(lines, place, key, kind, falls) {
  const values = lines.map(({ item, element }) => ({ element,
    value: key ? key(item) : shown(element.children[place], kind) }));
  values.sort((a, b) => order(a.value, b.value) * (falls ? -1 : 1));
  return values.map(({ element }) => element);
}

/// What a cell shows, as it sorts.
function shown(cell, kind) {
  const text = cell.querySelector("time")?.dateTime ?? cell.textContent;
  return kind === "number" ? Number(text.replace(/[^\d.-]/g, "")) : text;
}

export function order(a, b) {
  return typeof a === "string" || typeof b === "string" ? compare(String(a), String(b))
    : a < b ? -1 : a > b ? 1 : 0;
}
