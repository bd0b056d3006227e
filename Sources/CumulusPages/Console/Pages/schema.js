// Page: the schema of an environment, what differs from production, and who has which role.

import { get, post } from "/console/api.js";
import { add, attempt, badge, button, confirm, field, form, h, many, mark, number,
  replace, select, show, table, tabs, tell } from "/console/kit.js";

export const title = "Schema";
export const about = "Record types, their fields and indexes, and what each role may do.";

export async function page(main, { scope, rest }) {
  if (!scope.container) return void main.append(h("p", {}, "Create a container first."));
  add(main, tabs("Parts of the schema", [
    ["Types", () => types(scope)], ["Text", () => text(scope)],
    ["Differences", () => difference(scope)], ["Indexes", () => indexes(scope)],
    ["Roles", () => roles(scope)],
  ], rest[0] ?? "Types"));
}

// Types

async function types(scope) {
  const schema = await get("schema", scope);
  if (schema.types.length === 0) {
    return h("div", { class: "card" }, h("p", { class: "empty" }, "No record types yet. "
      + "Import a schema under Text, or save records in development."));
  }
  const detail = h("section", { class: "card", "aria-live": "polite" });
  const buttons = schema.types.map((type) => button(type.name, () => choose(type)));
  function choose(type) {
    mark(buttons, buttons.find((each) => each.textContent === type.name));
    replace(detail, typeDetail(type));
  }
  choose(schema.types[0]);
  return h("div", { class: "split" }, h("section", { class: "card" },
    h("h2", {}, many(schema.types.length, "type")),
    h("ul", { class: "list" }, buttons.map((each) => h("li", {}, each)))), detail);
}

function typeDetail(type) {
  const own = type.fields.filter((field) => !field.name.startsWith("___"));
  const system = type.fields.filter((field) => field.name.startsWith("___"));
  const columns = [
    ["Field", (field) => h("code", {}, field.name)], ["Type", (field) => field.type],
    ["Indexes", (field) => field.indexes.map((index) => badge(index.toLowerCase()))],
  ];
  return [
    h("h2", {}, type.name), table("Fields", columns, own, "No fields of its own."),
    h("h3", {}, "System fields with an index"),
    table("System fields", columns, system, "None."),
    h("h3", {}, "Grants in the public database"),
    table("Grants", [
      ["Role", (grant) => h("code", {}, grant.role)],
      ["May", (grant) => grant.rights.map((right) => badge(right.toLowerCase(), "good"))],
    ], type.grants, "No role may do anything."),
  ];
}

// Text

async function text(scope) {
  const schema = await get("schema", scope);
  if (scope.environment === "production") {
    return h("section", { class: "card" }, h("p", { class: "muted" },
      "Production changes by a deployment of what development has, under Differences."),
    h("pre", { class: "text", tabindex: "0" }, schema.text));
  }
  const area = h("textarea", { rows: "24", spellcheck: "false", name: "schema" });
  area.value = schema.text;
  const drops = h("input", { type: "checkbox", name: "drops" });
  const outcome = h("div", { "aria-live": "polite" });
  const send = (onlyValidates) => show(outcome, async () => {
    const values = { ...scope, text: area.value, onlyValidates, drops: drops.checked };
    const { changes } = await post("schema/import", values);
    tell(onlyValidates ? "The text is a schema." : "The schema is imported.");
    const heading = onlyValidates ? "The import would change" : "Changed";
    return [h("h3", {}, heading), list(changes)];
  });
  const act = () => send(false);
  return h("section", { class: "card" }, form(act, h("div", { class: "stack" },
    field("Schema language (.ckdb)", area),
    h("label", { class: "check" }, drops,
      "Drop types and fields that the text lacks, with what records hold in them"),
    h("div", { class: "row" }, button("Check", () => send(true)),
      h("button", { class: "main" }, "Import into development")))), outcome);
}

function list(changes) {
  if (changes.length === 0) return h("p", { class: "empty" }, "Nothing.");
  const kinds = { "+": "plus", "-": "minus" };
  return h("ul", { class: "changes" }, changes.map((line) =>
    h("li", { class: kinds[line[0]] ?? "" }, line)));
}

// Differences

async function difference(scope) {
  const place = h("div");
  const fill = () => show(place, async () => {
    const { difference: lines, deployment } = await get("schema/difference", scope);
    const deploy = button("Deploy to production…", async () => {
      const isSure = await confirm("Deploy to production?",
        `${many(deployment.length, "change")} will be made to production of `
        + `${scope.container}. A deployment only adds, and can't be taken back.`, "Deploy");
      if (!isSure) return;
      if (await attempt(() => post("schema/deploy", scope), "Deployed to production.")) {
        fill();
      }
    }, "main", { disabled: deployment.length === 0 });
    return h("div", { class: "grid" },
      h("section", { class: "card" }, h("h2", {}, "From production to development"),
        list(lines)),
      h("section", { class: "card" }, h("h2", {}, "What a deployment would do"),
        list(deployment), h("p"), deploy));
  });
  await fill();
  return place;
}

// Indexes

async function indexes(scope) {
  const { indexes: all } = await get("indexes", scope);
  return h("section", { class: "card" }, table("Indexes of this node", [
    ["Type", (index) => index.type], ["Field", (index) => h("code", {}, index.field)],
    ["Of", (index) => index.form],
    ["State", (index) => (index.isReady ? badge("ready", "good")
      : badge(`building: ${number(index.looked)} of ${number(index.records)}`, "warn"))],
  ], all, "This node keeps no indexes here."));
}

// Roles

async function roles(scope) {
  const [{ roles: given }, schema] = await Promise.all([
    get("roles", scope), get("schema", scope),
  ]);
  const place = h("div");
  const set = async (user, role, isGiven) => {
    const done = isGiven ? `${user} has ${role} now.` : `${user} has ${role} no more.`;
    if (await attempt(() => post("roles/set", { ...scope, user, role, isGiven }), done)) {
      show(place, () => roles(scope));
    }
  };
  const user = h("input", { required: true, name: "role-user" });
  const role = select(schema.roles, "", { name: "role" });
  add(place, h("section", { class: "card" }, table("Users with roles", [
    ["User", (entry) => entry.user || h("code", {}, entry.recordName)],
    ["Role", (entry) => [h("code", {}, entry.role),
      entry.isDropped && [" ", badge("not in the schema", "warn")]]],
    ["", (entry) => button("Take away", () =>
      set(entry.user || entry.recordName, entry.role, false), "little bad"), "acts"],
  ], given, "No user has a role yet.")),
  h("section", { class: "card" }, h("h2", {}, "Give a role"), schema.roles.length === 0
    ? h("p", { class: "empty" }, "The schema creates no roles.")
    : form(() => set(user.value, role.value, true), h("div", { class: "row" },
      field("User", user), field("Role", role),
      h("button", { class: "main" }, "Give")))));
  return place;
}
