// Page: records. A type shows its records at once; a query as text finds some of them; one of them
// is shown beside the list.
//
// Folder: the page of records. Read `records.js`, `find.js`, `results.js`, then `record.js` and
// `editor.js`.

import { actsIn, get, web } from "/console/api.js";
import { askForUser } from "/console/door.js";
import { findPage, indexesOf, lookUp, offered } from "/console/find.js";
import { check, fail, field, form, mayLeave } from "/console/forms.js";
import { add, button, h, replace, select, show } from "/console/kit.js";
import { complain } from "/console/notices.js";
import { recordDetail } from "/console/record.js";
import { results } from "/console/results.js";

export const title = "Records";
export const about = "The operator reads public records. All else needs a user's rights.";

export async function page(main, { scope, values, address, remember, names, open }) {
  if (!scope.container) return void main.append(h("p", {}, "Create a container first."));
  const schema = await get("schema", scope);
  const state = { scope, schema, open, as: actsIn(scope) ? "user" : "", names: await names,
    database: values.get("database") ?? "public", zone: values.get("zone") ?? "",
    owner: values.get("owner") ?? "", zones: [] };
  const inputs = inputsOf(state, values);
  const { database, type, zone, where, sort, extensions, size } = inputs;
  let columns = values.get("columns")?.split(",");
  /// Where the pages begin that were shown, the last one now.
  let starts = [];
  let asks = 0;

  const list = h("section", { class: "card", "aria-label": "Records found" });
  const detail = h("section", { class: "card", "aria-label": "Record", tabindex: "-1" });
  const split = h("div", { class: "split wide single" }, list, detail);
  const who = h("div", { class: "small muted row middle" });
  detail.hidden = true;

  const reveal = (isShown) => {
    detail.hidden = !isShown;
    split.classList.toggle("single", !isShown);
  };
  const acts = { changed: again, close, follow: (name) => followed(name) };
  async function choose(record) {
    if (!await mayLeave()) return;
    reveal(true);
    replace(detail, recordDetail(record, state, acts));
    detail.focus();
    detail.scrollIntoView({ block: "nearest" });
  }
  function close() {
    reveal(false);
    detail.replaceChildren();
  }
  async function followed(name) {
    if (!await mayLeave()) return;
    reveal(true);
    await show(detail, async () => recordDetail(await lookUp(state, name), state, acts));
  }

  const question = () => ({ type: type.value, where: where.value, sort: sort.value,
    extensions: extensions.checked, columns });
  function keep() {
    remember(address("records", scope, [], { database: database.value, type: type.value,
      zone: state.zone, owner: state.owner, where: where.value, sort: sort.value,
      size: size.value === "200" ? "" : size.value, columns: columns?.join(",") }));
  }

  async function run() {
    starts = [{ cursor: undefined, before: 0 }];
    keep();
    await again();
  }
  async function again() {
    if (!type.value || (database.value !== "public" && !state.as)) return list.replaceChildren();
    const asked = question();
    const number = (asks += 1);
    if (database.value === "shared" && !state.zone) {
      return void replace(list, h("p", { class: "empty" }, "Nobody shares a zone with this user."));
    }
    list.setAttribute("aria-busy", "true");
    try {
      const { cursor, before } = starts.at(-1);
      const found = await findPage(state, asked, Number(size.value), cursor);
      if (number !== asks) return;
      const shown = { ...found, before, hasMore: found.cursor !== undefined };
      replace(list, results(shown, asked, state, { open: choose, again, turn: (step) =>
        turn(step, shown), sort: (text) => { sort.value = text; return run(); },
      columns: (titles) => { columns = titles; keep(); },
      tell: (note) => list.prepend(note) }));
    } catch (error) {
      if (number !== asks) return;
      list.replaceChildren();
      blame(error, inputs);
    }
    list.removeAttribute("aria-busy");
  }
  async function turn(step, shown) {
    if (list.hasAttribute("aria-busy")) return;
    if (step < 0) starts.pop();
    else starts.push({ cursor: shown.cursor, before: shown.before + shown.records.length });
    await again();
    list.scrollIntoView({ block: "start" });
  }

  function changeType() {
    where.value = sort.value = "";
    columns = undefined;
    describe();
    close();
    return run();
  }
  /// What the chosen type and database allow.
  function describe() {
    const needs = database.value !== "public" && !state.as;
    const isOfUsers = type.value === "Users";
    const { some, all } = indexesOf(schema, type.value);
    for (const input of [where, sort, extensions]) input.disabled = !some;
    make.disabled = !state.as || isOfUsers || !type.value;
    const fix = h("a", { href: address("schema", scope, [type.value]) }, "Add an index");
    replace(who, needs ? ["These records are a user's own.", button("Act as a user…", () =>
      askForUser(scope, open), "little")]
      : isOfUsers ? "Records of users are found by the names of users."
        : !some ? ["No field of this type has an index, so its records stand in the order of "
          + "their names.", fix]
          : !all ? ["'___recordID' has no QUERYABLE index, so without a predicate records stand "
            + "in the order of their names.", fix]
            : !state.as && "You read as the operator. Act as a user, at the top right, to change "
              + "records.");
  }

  const fresh = () => choose({ recordType: type.value, fields: {}, isNew: true });
  const make = button("New record…", fresh);
  const asking = async (act) => {
    if (await mayLeave()) await act();
  };
  database.addEventListener("change", () => asking(async () => {
    state.zone = state.owner = "";
    await fillZones(state, database, zone);
    close();
    describe();
    await run();
  }));
  zone.addEventListener("change", () => asking(async () => {
    [state.owner, state.zone] = JSON.parse(zone.value);
    close();
    await run();
  }));
  type.addEventListener("change", () => asking(changeType));
  size.addEventListener("change", run);
  add(main, h("section", { class: "card" }, form(run, h("div", { class: "stack" },
    h("div", { class: "row" }, field("Database", database), field("Type", type),
      field("Zone", zone), field("Where", where, { class: "grow" }),
      field("Sort by", sort), field("Page of", size)),
    h("div", { class: "row middle" }, h("button", { class: "main" }, "Find"), make,
      check("Allow OR and tests for nil", extensions), who)))), split);
  if (offered(schema).length === 0) {
    add(list, h("p", { class: "empty" }, "The schema has no record types yet. ",
      h("a", { href: address("schema", scope) }, "Add one")));
    return;
  }
  await fillZones(state, database, zone);
  describe();
  if (values.get("record")) await followed(values.get("record"));
  await run();
}

function inputsOf({ schema, database }, values) {
  const names = offered(schema);
  const wanted = values.get("type");
  return {
    database: select([["public", "Public"], ["private", "Private"],
      ["shared", "Shared with the user"]], database, { name: "database" }),
    type: select(names, names.includes(wanted) ? wanted : names[0], { name: "type" }),
    zone: h("select", { name: "zone" }),
    where: h("input", { name: "where", class: "mono", spellcheck: "false", autocomplete: "off",
      placeholder: "stars >= 4 AND title BEGINSWITH 'a'", value: values.get("where") ?? "" }),
    sort: h("input", { name: "sort", class: "mono", spellcheck: "false", autocomplete: "off",
      size: "14", placeholder: "-stars, title", value: values.get("sort") ?? "" }),
    extensions: h("input", { type: "checkbox", name: "extensions" }),
    size: select([["50", "50"], ["200", "200"], ["1000", "1,000"]], values.get("size") ?? "200",
      { name: "size" }),
  };
}

/// Fills the choice of zones; a zone that is chosen stays so.
async function fillZones(state, database, zone) {
  state.database = database.value;
  if (database.value === "public" || !state.as) {
    state.zone = state.owner = "";
    replace(zone, h("option", { value: '["",""]' }, "default"));
    return;
  }
  try {
    const { zones } = await web(state.scope, database.value, "zones/list", {}, state.as);
    state.zones = zones.map(({ zoneID }) => zoneID);
  } catch (error) {
    complain(error, database);
    return;
  }
  const every = h("option", { value: '["",""]' }, "all");
  replace(zone, database.value === "private" && every, state.zones.map((each) => {
    const owner = database.value === "shared" ? each.ownerRecordName : "";
    return h("option", { value: JSON.stringify([owner, each.zoneName]),
      selected: each.zoneName === state.zone && (!state.owner || owner === state.owner) },
    owner ? `${each.zoneName} of ${state.names.of(owner) || owner}` : each.zoneName);
  }));
  if (zone.value) [state.owner, state.zone] = JSON.parse(zone.value);
}

/// Tells of a refused query at the field that caused it.
function blame(error, { where, sort, type }) {
  const input = sort.value && /sort/i.test(error.message) ? sort
    : where.value.trim() ? where : sort.value ? sort : type;
  fail(input, error.message);
}
