// Page: records. A query as text finds them; one of them is shown beside the list.

import { actsIn, get, post, web } from "/console/api.js";
import { add, attempt, button, field, form, h, many, moment, number, replace,
  select, show, table } from "/console/kit.js";
import { brief, recordDetail } from "/console/record.js";

export const title = "Records";
export const about = "The operator reads public records. All else needs a user's rights.";

/// Fields of a type that a list has columns for.
const mostColumns = 4;

export async function page(main, { scope, values, address }) {
  if (!scope.container) return void main.append(h("p", {}, "Create a container first."));
  const schema = await get("schema", scope);
  const as = actsIn(scope) ? "user" : "";
  const state = { scope, schema, as, database: values.get("database") ?? "public",
    zone: values.get("zone") ?? "", owner: values.get("owner") ?? "", address };
  const database = select([["public", "Public"], ["private", "Private"],
    ["shared", "Shared with the user"]], state.database, { name: "database" });
  const names = schema.types.map((type) => type.name);
  const type = select(names, values.get("type") ?? names[0], { name: "type" });
  const zone = h("select", { name: "zone" });
  const where = h("input", { name: "where", class: "mono", spellcheck: "false",
    placeholder: "stars >= 4 AND title BEGINSWITH 'a'", value: values.get("where") ?? "" });
  const sort = h("input", { name: "sort", class: "mono", spellcheck: "false", size: "18",
    placeholder: "-stars, title", value: values.get("sort") ?? "" });
  const extensions = h("input", { type: "checkbox", name: "extensions" });
  const list = h("section", { class: "card", "aria-label": "Records found" });
  const detail = h("section", { class: "card", "aria-label": "Record", tabindex: "-1" });
  const who = h("p", { class: "small muted" });
  const split = h("div", { class: "split wide single" }, list, detail);
  detail.hidden = true;

  const reveal = (isShown) => {
    detail.hidden = !isShown;
    split.classList.toggle("single", !isShown);
  };
  const open = (record) => {
    reveal(true);
    replace(detail, recordDetail(record, state, { changed: run, close, follow }));
    detail.focus();
  };
  const close = () => {
    reveal(false);
    detail.replaceChildren();
  };
  const follow = (name) => {
    reveal(true);
    return show(detail, async () =>
      recordDetail(await lookUp(state, name), state, { changed: run, close, follow }));
  };
  const run = () => show(list, async () => {
    const found = await find(state, { type: type.value, where: where.value,
      sort: sort.value, extensions: extensions.checked });
    return results(found, type.value, state, open);
  });

  database.addEventListener("change", () => change());
  zone.addEventListener("change", () => {
    [state.owner, state.zone] = JSON.parse(zone.value);
    close();
  });
  async function change() {
    state.database = database.value;
    const needs = database.value !== "public" && !as;
    replace(who, as ? "" : needs
      ? "Act as a user first, at the top right: these records are a user's own."
      : "You read as the operator. Act as a user, at the top right, to change records.");
    close();
    if (database.value === "public" || needs) {
      state.zone = state.owner = "";
      replace(zone, h("option", { value: '["",""]' }, "default"));
      return;
    }
    await attempt(async () => {
      const { zones } = await web(scope, database.value, "zones/list", {}, as);
      const every = h("option", { value: '["",""]' }, "all");
      replace(zone, database.value === "private" && every, zones.map(({ zoneID }) => {
        const owner = database.value === "shared" ? zoneID.ownerRecordName : "";
        const value = JSON.stringify([owner, zoneID.zoneName]);
        const isChosen = zoneID.zoneName === state.zone;
        return h("option", { value, selected: isChosen },
          owner ? `${zoneID.zoneName} of ${owner}` : zoneID.zoneName);
      }));
      if (zone.value) [state.owner, state.zone] = JSON.parse(zone.value);
    });
  }

  const fresh = () => ({ recordType: type.value, fields: {}, isNew: true });
  const make = button("New record…", () => open(fresh()), "", { disabled: !as });
  add(main, h("section", { class: "card" }, form(run, h("div", { class: "stack" },
    h("div", { class: "row" }, field("Database", database), field("Type", type),
      field("Zone", zone), field("Where", where, { class: "grow" }),
      field("Sort by", sort)),
    h("div", { class: "row middle" }, h("button", { class: "main" }, "Find"), make,
      h("label", { class: "check" }, extensions, "Allow OR and tests for nil"), who)))),
  split);
  await change();
  if (values.get("record")) await follow(values.get("record"));
  if (names.length > 0 && (state.database === "public" || as)) await run();
  else add(list, h("p", { class: "empty" }, names.length > 0 ? "Nothing is asked yet."
    : "The schema has no record types yet."));
}

/// The zone that a request names; nothing means all, or the default one.
export function zoneOf(state) {
  if (!state.zone) return {};
  return { zoneID: state.owner ? { zoneName: state.zone, ownerRecordName: state.owner }
    : { zoneName: state.zone } };
}

async function lookUp(state, recordName) {
  const { records } = await web(state.scope, state.database, "records/lookup",
    { records: [{ recordName }], numbersAsStrings: true, ...zoneOf(state) }, state.as);
  if (records[0].serverErrorCode) throw new Error(records[0].reason);
  return records[0];
}

function find(state, question, cursor) {
  return post("query", { ...state.scope, database: state.database, ...question, cursor,
    ...zoneOf(state), as: state.as || undefined,
    where: question.where.trim() || undefined }).then((answer) =>
    ({ ...answer, question }));
}

function results(found, type, state, open) {
  const declared = state.schema.types.find((other) => other.name === type)?.fields ?? [];
  // Texts say most about a record.
  const keys = [true, false].flatMap((isText) => declared
    .filter(({ name, type }) => !name.startsWith("___") && (type === "STRING") === isText)
    .map(({ name }) => name));
  const columns = [
    ["Name", (record) => button(record.recordName, () => open(record), "plain mono")],
    ...keys.slice(0, mostColumns).map((key) =>
      [key, (record) => brief(record, key, state), "cut"]),
    ["Modified", (record) => moment(record.modified.timestamp)],
  ];
  const place = h("div");
  let cursor = found.cursor;
  let records = found.records;
  const fill = () => {
    const more = cursor && button("Show more", () => attempt(async () => {
      const next = await find(state, found.question, cursor);
      records = [...records, ...next.records];
      cursor = next.cursor;
      fill();
    }));
    replace(place, table(`Records of type ${type}`, columns, records,
      "No record satisfies the predicate."), more);
  };
  fill();
  const { work } = found;
  const cost = work && `${work.plan}: ${many(work.rowsRead, "row")} read, `
    + `${number(work.rowsKept)} kept, ${(work.microseconds / 1000).toFixed(2)} ms`;
  return [h("h2", {}, many(records.length, "record"), cursor ? " and more" : ""), place,
    cost && h("p", { class: "small muted" }, cost)];
}
