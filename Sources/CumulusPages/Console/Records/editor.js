// The form that makes or changes a record. What is wrong with a value stands at its field.

import { web } from "/console/api.js";
import { assetInput, zoneFor } from "/console/assets.js";
import { Faults, field, form, guard } from "/console/forms.js";
import { button, h } from "/console/kit.js";
import { tell } from "/console/notices.js";
import { shown, typed, typeTag } from "/console/values.js";

const files = /^(ASSET|LIST<ASSET>)$/;

const hints = {
  TIMESTAMP: "A time as ISO 8601, such as 2026-11-30T12:00Z", LOCATION: "Latitude, longitude",
  BYTES: "Base64", REFERENCE: "The name of a record",
};

/// `cancel` is called without a save, `saved` with the record as the node has it now.
export function editor(record, state, { cancel, saved }) {
  const type = state.schema.types.find((type) => type.name === record.recordType);
  const declared = (type?.fields ?? []).filter((each) => !each.name.startsWith("___"));
  const assets = declared.filter((each) => files.test(each.type)).map((each) =>
    ({ key: each.name, ...assetInput(record, each.name, each.type, state) }));
  const inputs = declared.filter((each) => typeTag(each.type)
    && !record.fields[each.name]?.type.startsWith("ENCRYPTED"))
    .map((each) => inputOf(record, each));
  const name = h("input", { name: "recordName", class: "mono",
    placeholder: "made by the node if empty" });
  const element = form(async () => {
    const fields = read(inputs);
    try {
      for (const each of assets) {
        const value = await each.upload();
        if (value) fields[each.key] = value;
      }
      const answer = await modify(state, record, operation(record, name.value, fields));
      element.remove();
      saved(answer);
    } catch (error) {
      throw located(error, [...inputs, ...assets]);
    }
    tell("Saved.");
  }, h("div", { class: "stack" }, record.isNew && field("Record name", name),
    inputs.map(({ key, declared: type, input, hint }) =>
      field([h("b", {}, key), ` ${type}`], input, { hint })),
    assets.map((each) => each.element),
    h("p", { class: "small muted" },
      "An empty value removes a field. Files are uploaded with Save."),
    h("div", { class: "row" }, h("button", { class: "main" }, "Save"),
      button("Cancel", cancel))));
  guard(element, () => name.value !== "" || assets.some((each) => each.isChanged())
    || inputs.some((each) => each.input.value !== each.before));
  return element;
}

function inputOf(record, { name, type }) {
  const tag = typeTag(type);
  const before = shown(record.fields[name]);
  const isList = tag.endsWith("_LIST");
  const isLong = isList || before.length > 50;
  const input = h(isLong ? "textarea" : "input", { name, rows: isLong ? "3" : undefined });
  input.value = before;
  const action = [record.fields[name]?.value].flat()[0]?.action ?? "NONE";
  const hint = isList ? "A list as JSON, such as [\"a\", \"b\"]" : hints[tag];
  return { key: name, declared: type, tag, input, before, action, hint };
}

/// The fields that were changed; throws all that is wrong with them.
function read(inputs) {
  const fields = {};
  const faults = [];
  for (const each of inputs) {
    if (each.input.value === each.before) continue;
    try {
      fields[each.key] = { type: each.tag, value: typed(each) };
    } catch (error) {
      faults.push([each.input, error.message]);
    }
  }
  if (faults.length > 0) throw new Faults(faults);
  return fields;
}

function operation(record, name, fields) {
  const { recordType, recordChangeTag } = record;
  return record.isNew
    ? { operationType: "create", record: { recordName: name || undefined, recordType, fields } }
    : { operationType: "update",
      record: { recordName: record.recordName, recordType, recordChangeTag, fields } };
}

/// A refusal of the node, at the field that it names.
function located(error, inputs) {
  const key = error.message?.match(/fields?[. ]'?(\w+)/)?.[1];
  const found = inputs.find((each) => each.key === key);
  return found ? new Faults([[found.input, error.message]]) : error;
}

/// Makes one change to a record.
export async function modify(state, record, operation) {
  const { records } = await web(state.scope, state.database, "records/modify",
    { operations: [operation], numbersAsStrings: true, ...zoneFor(record, state) },
    state.as);
  if (records[0].serverErrorCode) throw new Error(records[0].reason);
  return records[0];
}
