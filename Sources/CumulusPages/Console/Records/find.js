// Pages of records: by a query, by a list where a type has no index, or by the names of users.
//
// Called by `records.js`. The node answers with 200 records at most; a page asks as often as it
// takes.

import { get, post, web } from "/console/api.js";

const mostPerCall = 200;

/// Whether queries may ask for a type at all, and whether they may ask for all of its records.
export function indexesOf(schema, name) {
  const fields = schema.types.find((type) => type.name === name)?.fields ?? [];
  return { some: fields.some((field) => field.indexes.length > 0),
    all: fields.some((field) => field.name === "___recordID"
      && field.indexes.includes("QUERYABLE")) };
}

/// How records are found: "query", "list", or "users" for what is fetched by name.
export function wayOf(schema, { type, where, sort }) {
  if (type === "Users") return "users";
  const { some, all } = indexesOf(schema, type);
  return all || (some && (where.trim() || sort.trim())) ? "query" : "list";
}

/// Record types in the order in which they are offered: the app's own before the system's.
export function offered(schema) {
  const names = schema.types.map((type) => type.name);
  return [...names.filter((name) => name !== "Users"),
    ...names.filter((name) => name === "Users")];
}

/// The zone that a request names; nothing means all, or the default one.
export function zoneOf(state) {
  if (!state.zone) return {};
  return { zoneID: state.owner ? { zoneName: state.zone, ownerRecordName: state.owner }
    : { zoneName: state.zone } };
}

/// The records of a page from a cursor on; with a cursor if there are more.
export async function findPage(state, question, size, from) {
  const ask = { query, list, users }[wayOf(state.schema, question)];
  const records = [];
  let cursor = from;
  let work = null;
  do {
    const count = Math.min(mostPerCall, size - records.length);
    const answer = await ask(state, question, count, cursor);
    records.push(...answer.records);
    cursor = answer.cursor;
    work = sum(work, answer.work);
  } while (cursor && records.length < size);
  return { records, cursor, work };
}

function sum(before, work) {
  if (!before || !work) return work ?? before;
  return { plan: work.plan, rowsRead: before.rowsRead + work.rowsRead,
    rowsKept: before.rowsKept + work.rowsKept,
    microseconds: before.microseconds + work.microseconds };
}

function query(state, question, limit, cursor) {
  return post("query", { ...state.scope, database: state.database, ...question, limit, cursor,
    ...zoneOf(state), as: state.as || undefined,
    where: question.where.trim() || undefined });
}

/// A list goes through one zone after the other.
async function list(state, question, limit, cursor) {
  const zones = state.zone || state.database === "public"
    ? [{ zoneName: state.zone, ownerRecordName: state.owner }] : state.zones;
  const { place, after } = cursor ?? { place: 0, after: "" };
  if (place >= zones.length) return { records: [] };
  const { zoneName, ownerRecordName } = zones[place];
  const answer = await get("list", { ...state.scope, database: state.database,
    type: question.type, zone: zoneName, owner: state.owner && ownerRecordName, limit, after,
    as: state.as });
  const next = answer.after ? { place, after: answer.after } : { place: place + 1, after: "" };
  return { records: answer.records, cursor: next.place < zones.length ? next : undefined };
}

/// The records of users, which the node returns by their names only.
async function users(state, question, limit, cursor) {
  const start = cursor ?? 0;
  const names = state.database === "public"
    ? state.names.users.map((user) => user.recordName).filter(Boolean).sort() : [];
  const records = names.slice(start, start + limit).map((recordName) => ({ recordName }));
  if (records.length === 0) return { records };
  const answer = await web(state.scope, state.database, "records/lookup",
    { records, numbersAsStrings: true }, state.as);
  return { records: answer.records.filter((record) => !record.serverErrorCode),
    cursor: start + limit < names.length ? start + limit : undefined };
}

export async function lookUp(state, recordName) {
  const { records } = await web(state.scope, state.database, "records/lookup",
    { records: [{ recordName }], numbersAsStrings: true, ...zoneOf(state) }, state.as);
  if (records[0].serverErrorCode) throw new Error(records[0].reason);
  return records[0];
}
