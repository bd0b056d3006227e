// One record: its values, pictures and references, and what may be done with it.

import { askForUser } from "/console/door.js";
import { editor, modify } from "/console/editor.js";
import { mayLeave } from "/console/forms.js";
import { button, facts, h, moment, replace } from "/console/kit.js";
import { attempt, confirm } from "/console/notices.js";
import { whole } from "/console/values.js";

/// All of a record, with its acts.
export function recordDetail(record, state, acts) {
  const place = h("div", { class: "stack" });
  const read = () => replace(place, heading(record, acts),
    facts(...Object.entries(record.fields).map(([key, entry]) =>
      [h("code", {}, key), h("div", {}, whole(record, key, entry, state, acts.follow))])),
    Object.keys(record.fields).length === 0 && h("p", { class: "empty" }, "No fields."),
    h("h3", {}, "System"), system(record, state), choices(record, state, acts, edit));
  const edit = () => replace(place, heading(record, acts), editor(record, state, {
    cancel: async () => {
      if (!await mayLeave()) return;
      if (record.isNew) acts.close();
      else read();
    },
    saved: (saved) => { record = saved; read(); acts.changed(); },
  }));
  if (record.isNew) edit(); else read();
  return place;
}

function choices(record, state, acts, edit) {
  if (!state.as) {
    return h("div", { class: "row middle" },
      h("span", { class: "small muted" }, "Changes need a user's rights."),
      button("Act as a user…", () => askForUser(state.scope, state.open), "little"));
  }
  return h("div", { class: "row" }, button("Edit…", edit, "main"),
    button("Delete…", () => remove(record, state, acts), "bad"));
}

function heading(record, { close }) {
  return h("div", { class: "row middle" }, h("h2", { class: "grow" },
    record.isNew ? `New ${record.recordType}` : record.recordName),
  button("Close", async () => { if (await mayLeave()) close(); }, "little"));
}

function system(record, { names, database }) {
  const { created, modified } = record;
  const by = (event) => [moment(event.timestamp), event.userRecordName
    ? [" by ", names.who(event.userRecordName)] : ""];
  const { zoneName, ownerRecordName } = record.zoneID ?? {};
  return facts(["type", record.recordType], ["zone", [zoneName,
    database === "shared" ? [" of ", names.who(ownerRecordName)] : ""]],
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
