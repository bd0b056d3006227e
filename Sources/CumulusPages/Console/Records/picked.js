// What is done with several records: they are saved to a file, or deleted.
//
// Called by `results.js`. Without a picked record a file gets all that the query finds.

import { web } from "/console/api.js";
import { zoneFor } from "/console/assets.js";
import { findPage } from "/console/find.js";
import { button, h, many, number, replace } from "/console/kit.js";
import { attempt, confirm, tell } from "/console/notices.js";
import { plain } from "/console/values.js";

/// Records of one file; `cumulus export` writes more.
const mostOfFile = 100_000;
const perCall = 200;

/// The buttons, a line for what is going on, and what draws both.
export function pickedPart(picked, question, state, acts) {
  const count = h("span", { class: "small", role: "status" });
  const remove = button("Delete…", () => attempt(deleteAll), "bad little");
  const note = h("div", { "aria-live": "polite" });
  const parts = [count, button("Export CSV", () => attempt(() => save("csv")), "little"),
    button("Export JSON", () => attempt(() => save("json")), "little"), remove];

  function draw() {
    replace(count, picked.size > 0 ? `${number(picked.size)} picked` : "");
    count.classList.toggle("hidden", picked.size === 0);
    remove.disabled = picked.size === 0 || !state.as;
    remove.title = state.as ? "" : "Act as a user to delete records";
  }

  async function save(kind) {
    const records = picked.size > 0 ? [...picked.values()] : await findAll(question, state, note);
    const text = kind === "csv" ? csv(records) : `${JSON.stringify(records, null, 2)}\n`;
    download(`${question.type}.${kind}`, text, kind === "csv" ? "text/csv" : "application/json");
    tell(`${many(records.length, "record")} exported.`);
  }

  async function deleteAll() {
    const records = [...picked.values()];
    const isSure = await confirm(`Delete ${many(records.length, "record")}?`,
      "They go from all devices that sync them.", "Delete");
    if (!isSure) return;
    const refused = await deleteRecords(records, state, note);
    replace(note);
    await acts.again();
    const done = records.length - refused.length;
    if (done > 0) tell(`${many(done, "record is", "records are")} deleted.`);
    if (refused.length > 0) acts.tell(refusals(refused));
  }

  draw();
  return { parts, note, draw };
}

function refusals(refused) {
  return h("div", { class: "problem", role: "alert" },
    h("p", {}, `${many(refused.length, "record was", "records were")} not deleted:`),
    h("ul", {}, refused.slice(0, 20).map(({ recordName, reason }) =>
      h("li", {}, h("code", {}, recordName), `: ${reason}`))),
    refused.length > 20 && h("p", {}, `and ${number(refused.length - 20)} more`));
}

async function findAll(question, state, note) {
  const records = [];
  let cursor;
  do {
    const page = await findPage(state, question, 1000, cursor);
    records.push(...page.records);
    cursor = page.cursor;
    replace(note, h("p", { class: "small muted" }, `${number(records.length)} records…`));
    if (records.length > mostOfFile) {
      throw new Error(`A file of the console holds ${number(mostOfFile)} records at most. `
        + "'cumulus export' writes any number.");
    }
  } while (cursor);
  replace(note);
  return records;
}

/// Deletes records as they are shown; one that was changed since is refused.
async function deleteRecords(records, state, note) {
  const refused = [];
  let done = 0;
  for (const part of batches(records)) {
    const { records: answers } = await web(state.scope, state.database, "records/modify", {
      atomic: false, numbersAsStrings: true, ...zoneFor(part[0], state),
      operations: part.map(({ recordName, recordChangeTag }) =>
        ({ operationType: "delete", record: { recordName, recordChangeTag } })),
    }, state.as);
    refused.push(...answers.filter((answer) => answer.serverErrorCode));
    done += part.length;
    replace(note, h("p", { class: "small muted" },
      `${number(done)} of ${number(records.length)} records…`));
  }
  return refused;
}

/// Records of one zone, as many as a call takes.
function batches(records) {
  const zones = Map.groupBy(records, (record) => record.zoneID?.zoneName);
  return [...zones.values()].flatMap((all) =>
    Array.from({ length: Math.ceil(all.length / perCall) }, (_, place) =>
      all.slice(place * perCall, (place + 1) * perCall)));
}

// Files

/// A table as RFC 4180 has it: a column for each field that one of the records has.
function csv(records) {
  const keys = [...new Set(records.flatMap((record) => Object.keys(record.fields)))].sort();
  const head = ["recordName", "recordType", "zone", ...keys, "created", "createdBy", "modified",
    "modifiedBy"];
  const lines = records.map((record) => [record.recordName, record.recordType,
    record.zoneID?.zoneName, ...keys.map((key) => cell(record.fields[key])),
    time(record.created), record.created.userRecordName, time(record.modified),
    record.modified.userRecordName]);
  return [head, ...lines].map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
}

function cell(entry) {
  if (!entry) return "";
  if (Array.isArray(entry.value)) {
    return JSON.stringify(entry.value.map((value) => plain({ type: entry.type, value })));
  }
  return entry.type === "ASSETID" ? entry.value.fileChecksum : plain(entry);
}

function time(event) { return new Date(event.timestamp).toISOString(); }

function quoted(value) {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
}

function download(name, text, type) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href, download: name, hidden: true }, name);
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
