// One record: its values, pictures and references, and the form that changes it.

import { web } from "/console/api.js";
import { assetInput, picture, sized, zoneFor } from "/console/assets.js";
import { attempt, badge, bytes, button, confirm, facts, field, form, h, moment, number,
  replace, tell } from "/console/kit.js";

/// A value in a list, in few words.
export function brief(record, key, state) {
  const entry = record.fields[key];
  if (!entry) return h("span", { class: "muted" }, "–");
  if (entry.type === "ASSETID") return picture(record, key, entry.value, state);
  return text(entry);
}

function text({ type, value }) {
  if (Array.isArray(value)) return value.map((each) => one(type, each)).join(", ");
  return one(type, value);
}

function one(type, value) {
  if (type.startsWith("TIMESTAMP")) return new Date(Number(value)).toISOString();
  if (type.startsWith("LOCATION")) return `${value.latitude}, ${value.longitude}`;
  if (type.startsWith("REFERENCE")) return value.recordName;
  if (type.startsWith("ASSET")) return bytes(value.size);
  if (type === "ENCRYPTED_BYTES") return "sealed by a client";
  return String(value);
}

function value(record, key, entry, state, follow) {
  const { type } = entry;
  if (type.startsWith("ASSETID")) {
    return [entry.value].flat().map((asset) => sized(record, key, asset, state));
  }
  if (type.startsWith("REFERENCE")) {
    return [entry.value].flat().map((reference) => [
      button(reference.recordName, () => follow(reference.recordName), "plain mono"),
      reference.action === "DELETE_SELF" && badge("goes with it", "grey"), " "]);
  }
  if (type === "TIMESTAMP") return moment(entry.value);
  if (type === "INT64") return number(BigInt(entry.value));
  if (type === "ENCRYPTED_BYTES") return badge("sealed by a client", "grey");
  return text(entry);
}

/// All of a record, with its acts.
export function recordDetail(record, state, acts) {
  const place = h("div", { class: "stack" });
  const read = () => replace(place, heading(record, acts),
    facts(...Object.entries(record.fields).map(([key, entry]) =>
      [h("code", {}, key), h("div", {}, value(record, key, entry, state, acts.follow))])),
    Object.keys(record.fields).length === 0 && h("p", { class: "empty" }, "No fields."),
    h("h3", {}, "System"), system(record),
    h("div", { class: "row" },
      button("Edit…", () => edit(), "main", { disabled: !state.as }),
      button("Delete…", () => remove(record, state, acts), "bad", { disabled: !state.as }),
      !state.as && h("span", { class: "small muted" }, "Changes need a user's rights.")));
  const edit = () => replace(place, heading(record, acts), editor(record, state, {
    cancel: record.isNew ? acts.close : read,
    saved: (saved) => { record = saved; read(); acts.changed(); },
  }));
  if (record.isNew) edit(); else read();
  return place;
}

function heading(record, { close }) {
  return h("div", { class: "row middle" }, h("h2", { class: "grow" },
    record.isNew ? `New ${record.recordType}` : record.recordName),
  button("Close", close, "little"));
}

function system(record) {
  const { created, modified } = record;
  const by = (event) => [moment(event.timestamp), event.userRecordName
    ? [" by ", h("code", {}, event.userRecordName)] : ""];
  return facts(["type", record.recordType], ["zone", record.zoneID?.zoneName],
    ["change tag", h("code", {}, record.recordChangeTag)],
    ["created", h("span", {}, by(created))], ["modified", h("span", {}, by(modified))],
    record.parent && ["parent", record.parent.recordName],
    record.share && ["share", record.share.recordName]);
}

async function remove(record, state, acts) {
  const isSure = await confirm("Delete the record?",
    `${record.recordName} goes from all devices that sync it.`, "Delete");
  if (!isSure) return;
  const { recordName, recordChangeTag } = record;
  const done = await attempt(() => modify(state, record, { operationType: "delete",
    record: { recordName, recordChangeTag } }), `${recordName} is deleted.`);
  if (!done) return;
  acts.close();
  acts.changed();
}

async function modify(state, record, operation) {
  const { records } = await web(state.scope, state.database, "records/modify",
    { operations: [operation], numbersAsStrings: true, ...zoneFor(record, state) },
    state.as);
  if (records[0].serverErrorCode) throw new Error(records[0].reason);
  return records[0];
}

// The form

const typeable = /^(STRING|INT64|DOUBLE|TIMESTAMP|BYTES|LOCATION|REFERENCE|NUMBER)$/;
const files = /^(ASSET|LIST<ASSET>)$/;

/// The type of a field's values in web services; empty for what can't be typed.
function typeTag(declared) {
  const list = declared.match(/^LIST<(\w+)>$/);
  const base = (list?.[1] ?? declared).replace(/ .*/, "");
  if (!typeable.test(base)) return "";
  return (base === "NUMBER" ? "DOUBLE" : base) + (list ? "_LIST" : "");
}

function editor(record, state, { cancel, saved }) {
  const type = state.schema.types.find((type) => type.name === record.recordType);
  const declared = (type?.fields ?? []).filter((each) => !each.name.startsWith("___")
    && record.fields[each.name]?.type !== "ENCRYPTED_BYTES");
  const assets = declared.filter((each) => files.test(each.type)).map((each) =>
    ({ key: each.name, ...assetInput(record, each.name, each.type, state) }));
  const inputs = declared
    .map((each) => ({ key: each.name, tag: typeTag(each.type), declared: each.type }))
    .filter((each) => each.tag)
    .map((each) => {
      const before = shown(record.fields[each.key]);
      const isLong = each.tag.endsWith("_LIST") || before.length > 50;
      const input = h(isLong ? "textarea" : "input", { name: each.key, rows: "3" });
      input.value = before;
      const action = [record.fields[each.key]?.value].flat()[0]?.action ?? "NONE";
      return { ...each, input, before, action };
    });
  const name = h("input", { name: "recordName", class: "mono",
    placeholder: "made by the node if empty" });
  return form(async () => {
    const fields = {};
    const isRead = await attempt(async () => {
      for (const each of inputs) {
        if (each.input.value === each.before) continue;
        fields[each.key] = { type: each.tag, value: typed(each) };
      }
    });
    if (!isRead) return;
    const { recordType, recordChangeTag } = record;
    const operation = record.isNew
      ? { operationType: "create",
        record: { recordName: name.value || undefined, recordType, fields } }
      : { operationType: "update",
        record: { recordName: record.recordName, recordType, recordChangeTag, fields } };
    await attempt(async () => {
      for (const each of assets) {
        const value = await each.upload();
        if (value) fields[each.key] = value;
      }
      saved(await modify(state, record, operation));
      tell("Saved.");
    });
  }, h("div", { class: "stack" }, record.isNew && field("Record name", name),
    inputs.map(({ key, declared: type, input }) => field(`${key}, ${type}`, input)),
    assets.map((each) => each.element),
    h("p", { class: "small muted" }, "Times are ISO 8601, places latitude and longitude, "
      + "lists JSON. An empty value removes a field. Files are uploaded with Save."),
    h("div", { class: "row" }, h("button", { class: "main" }, "Save"),
      button("Cancel", cancel))));
}

/// A value as it is typed.
function shown(entry) {
  if (!entry) return "";
  const base = entry.type.replace(/_LIST$/, "");
  if (!Array.isArray(entry.value)) return one(base, entry.value);
  return JSON.stringify(entry.value.map((each) => one(base, each)));
}

/// What was typed as web services take it; null removes the field.
function typed({ key, tag, input, action }) {
  if (input.value === "") return null;
  const base = tag.replace(/_LIST$/, "");
  if (base === tag) return typedOne(key, base, input.value, action);
  let list;
  try { list = JSON.parse(input.value); } catch { list = null; }
  if (!Array.isArray(list)) {
    throw new Error(`${key}: write a list as JSON, such as ["a", "b"]`);
  }
  return list.map((each) => typedOne(key, base, String(each), action));
}

function typedOne(key, base, word, action) {
  switch (base) {
    case "INT64":
      if (!/^-?\d+$/.test(word)) throw new Error(`${key}: write a whole number`);
      return word;
    case "DOUBLE":
      if (!Number.isFinite(Number(word))) throw new Error(`${key}: write a number`);
      return word;
    case "TIMESTAMP": {
      const time = Date.parse(word);
      if (Number.isNaN(time)) {
        throw new Error(`${key}: write a time, such as 2026-11-30T12:00Z`);
      }
      return String(time);
    }
    case "LOCATION": {
      const parts = word.split(",").map(Number);
      if (parts.length !== 2 || !parts.every(Number.isFinite)) {
        throw new Error(`${key}: write latitude and longitude, such as 48.1, 11.6`);
      }
      return { latitude: parts[0], longitude: parts[1] };
    }
    case "REFERENCE": return { recordName: word, action };
    default: return word;
  }
}
