// The records of a page: chosen columns, which sort by a click, and records to pick.

import { indexesOf } from "/console/find.js";
import { check } from "/console/forms.js";
import { add, button, h, many, moment, number, replace } from "/console/kit.js";
import { pickedPart } from "/console/picked.js";
import { order, table } from "/console/table.js";
import { brief, sortValue } from "/console/values.js";

/// Fields of a type that a list has columns for by default.
const fewColumns = 4;

/// What all records have, beside their fields: the title, the field of the schema, how a list shows
/// it and by what it sorts.
const system = [
  ["Created", "___createTime", (record) => moment(record.created.timestamp),
    (record) => record.created.timestamp],
  ["Created by", "___createdBy", (record, state) => state.names.who(record.created.userRecordName),
    (record, state) => state.names.of(record.created.userRecordName)],
  ["Modified", "___modTime", (record) => moment(record.modified.timestamp),
    (record) => record.modified.timestamp],
  ["Modified by", "___modifiedBy",
    (record, state) => state.names.who(record.modified.userRecordName),
    (record, state) => state.names.of(record.modified.userRecordName)],
  ["Zone", "", (record) => record.zoneID?.zoneName ?? "",
    (record) => record.zoneID?.zoneName ?? ""],
];

/// All columns of a type: the title, the field that a query sorts by, the cell and the sort key.
function columnsOf(type, state) {
  const fields = (type?.fields ?? []).filter(({ name }) => !name.startsWith("___"));
  const indexes = new Map((type?.fields ?? []).map((field) => [field.name, field.indexes]));
  const sorts = (name) => indexes.get(name)?.includes("SORTABLE") && name;
  return [...fields.map(({ name }) => ({ title: name, sorts: sorts(name), kind: "cut",
    cell: (record) => brief(record, name, state),
    key: (record) => sortValue(record.fields[name]) })),
  ...system.map(([title, name, cell, key]) => ({ title, sorts: sorts(name), kind: "",
    cell: (record) => cell(record, state), key: (record) => key(record, state) }))];
}

/// What fields of a type say about a record: most first. All others stand between them.
const telling = ["STRING", "ASSET"];
const silent = ["BYTES", "LOCATION", "LIST<ASSET>"];

/// Of equal types, fields with an index say more.
function usual(type, state) {
  const fields = (type?.fields ?? []).filter(({ name }) => !name.startsWith("___"));
  const kind = (type) => (telling.includes(type) ? telling.indexOf(type)
    : silent.includes(type) || type.includes("ENCRYPTED") ? 3 : 2);
  const rank = ({ type, indexes }) =>
    2 * kind(type) + Number(indexes.length === 0 && type !== "ASSET");
  const ranked = fields.toSorted((a, b) => rank(a) - rank(b)).map(({ name }) => name);
  const isWide = state.database === "private" && !state.zone;
  return [...ranked.slice(0, fewColumns), ...(isWide ? ["Zone"] : []), "Modified"];
}

/// A page of records.
///
/// `page` holds its records, the number of those before it, and whether there are more. `acts` are
/// called to open a record, to go to another page, to sort all by a field, to keep the chosen
/// columns, and to find everything anew.
export function results(page, question, state, acts) {
  const type = state.schema.types.find((other) => other.name === question.type);
  const all = columnsOf(type, state);
  let chosen = (question.columns ?? usual(type, state))
    .filter((title) => all.some((column) => column.title === title));
  const asks = indexesOf(state.schema, question.type).all || question.where.trim() !== "";
  let records = page.records;
  let sorted = sortOf(question.sort, all);
  const picked = new Map();
  const place = h("div");
  const note = h("p", { class: "small muted", role: "status" });
  const bar = pickedPart(picked, question, state, acts);

  function sortBy(title) {
    const falls = sorted?.title === title && !sorted.falls;
    const column = all.find((each) => each.title === title);
    const isWhole = page.before === 0 && !page.hasMore;
    if (column?.sorts && asks && !isWhole) return acts.sort(`${falls ? "-" : ""}${column.sorts}`);
    const key = column?.key ?? ((record) => record.recordName);
    records = [...page.records].sort((a, b) => order(key(a), key(b)) * (falls ? -1 : 1));
    sorted = { title, falls };
    replace(note, isWhole ? "" : `Sorted among the ${number(records.length)} records of this page. `
      + (column?.sorts ? "To sort all of them, '___recordID' needs a QUERYABLE index."
        : "To sort all of them, the field needs a SORTABLE index."));
    draw();
    place.querySelector("th[aria-sort] button")?.focus();
  }

  function draw() {
    const picks = picker(records, picked, bar.draw);
    replace(place, table(`Records of type ${question.type}`, [
      [picks.all, (record) => picks.one(record), "pick"],
      ["Name", (record) => button(record.recordName, () => acts.open(record), "plain mono")],
      ...chosen.map((title) => all.find((column) => column.title === title))
        .map(({ title, cell, kind }) => [title, cell, kind]),
    ], records, question.where.trim() ? "No record satisfies the predicate."
      : "There are no records of this type here.", { sort: { ...sorted, by: sortBy } }));
    bar.draw();
  }
  draw();
  const columns = chooser(all.map(({ title }) => title), chosen, (titles) => {
    chosen = titles;
    acts.columns(titles);
    draw();
  });
  return [h("div", { class: "row middle" }, h("h2", { class: "grow" }, heading(page)),
    bar.parts, columns), bar.note, place, note, pager(page, acts), cost(page.work)];
}

function sortOf(text, all) {
  const word = text.split(",")[0].trim();
  if (!word) return null;
  const name = word.replace(/^-/, "");
  const column = all.find((each) => each.sorts === name);
  return column && { title: column.title, falls: word.startsWith("-") };
}

function heading({ records, before, hasMore }) {
  if (before === 0 && !hasMore) return many(records.length, "record");
  // A list learns only from the next page that there is none.
  if (records.length === 0) return `No records behind the first ${number(before)}`;
  const last = before + records.length;
  return `Records ${number(before + 1)} to ${number(last)}`
    + (hasMore ? "" : ` of ${number(last)}`);
}

function cost(work) {
  // A user is not told of records that it may not read.
  return work && work.rowsRead > 0 && h("p", { class: "small muted" },
    `${work.plan}: ${many(work.rowsRead, "row")} read, ${number(work.rowsKept)} kept, `
      + `${(work.microseconds / 1000).toFixed(2)} ms`);
}

/// Boxes that pick the records of a page, one or all.
function picker(records, picked, changed) {
  const key = (record) => JSON.stringify([record.zoneID?.zoneName, record.recordName]);
  const boxes = [];
  const all = h("input", { type: "checkbox", name: "pick-all", "aria-label": "Pick all",
    on: { change: () => {
      for (const [box, record] of boxes) set(box, record, all.checked);
      update();
    } } });
  let last = -1;
  function set(box, record, isPicked) {
    box.checked = isPicked;
    if (isPicked) picked.set(key(record), record);
    else picked.delete(key(record));
  }
  function update() {
    all.checked = picked.size > 0 && picked.size === records.length;
    all.indeterminate = picked.size > 0 && !all.checked;
    changed();
  }
  /// With Shift all between the last box and this one.
  function pick(place, event) {
    const from = event.shiftKey && last >= 0 ? Math.min(last, place) : place;
    const to = event.shiftKey && last >= 0 ? Math.max(last, place) : place;
    const isPicked = boxes[place][0].checked;
    for (const [box, record] of boxes.slice(from, to + 1)) set(box, record, isPicked);
    last = place;
    update();
  }
  function one(record) {
    const place = boxes.length;
    const box = h("input", { type: "checkbox", "aria-label": `Pick ${record.recordName}`,
      on: { click: (event) => pick(place, event) } });
    box.checked = picked.has(key(record));
    boxes.push([box, record]);
    return box;
  }
  return { all, one };
}

document.addEventListener("pointerdown", ({ target }) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(target)) menu.open = false;
  }
});

/// A menu of columns.
function chooser(titles, chosen, changed) {
  const boxes = titles.map((title) => {
    const box = h("input", { type: "checkbox", name: `column-${title}` });
    box.checked = chosen.includes(title);
    box.addEventListener("change", () =>
      changed(titles.filter((_, place) => boxes[place].checked)));
    return box;
  });
  return h("details", { class: "menu", on: { keydown: (event) => {
    if (event.key !== "Escape") return;
    event.currentTarget.open = false;
    event.currentTarget.firstElementChild.focus();
  } } }, h("summary", { class: "button" }, "Columns"),
  h("div", { class: "sheet" }, titles.map((title, place) => check(title, boxes[place]))));
}

function pager(page, acts) {
  if (page.before === 0 && !page.hasMore) return null;
  return add(h("div", { class: "row" }),
    button("Previous page", () => acts.turn(-1), "", { disabled: page.before === 0 }),
    button("Next page", () => acts.turn(1), "", { disabled: !page.hasMore }));
}
