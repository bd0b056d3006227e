// Page: the schema of an environment, what differs from production, and who has which role.
//
// Folder: the page of the schema. Read `schema.js`, `draft.js`, `types.js`, then `lines.js`.

import { get, post } from "/console/api.js";
import { fail, field, form } from "/console/forms.js";
import { add, badge, button, h, many, number, select, show, tabs } from "/console/kit.js";
import { attempt, confirm, tell } from "/console/notices.js";
import { table } from "/console/table.js";
import { changeList, typesPart } from "/console/types.js";

export const title = "Schema";
export const about = "Record types, their fields and indexes, and what each role may do.";

export async function page(main, { scope, rest, names }) {
  if (!scope.container) return void main.append(h("p", {}, "Create a container first."));
  add(main, tabs("Parts of the schema", [
    ["Types", async () => typesPart(scope, await get("schema", scope), rest[0])],
    ["Differences", () => difference(scope)], ["Indexes", () => indexes(scope)],
    ["Roles", async () => roles(scope, await names)],
  ], "Types"));
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
        changeList(lines)),
      h("section", { class: "card" }, h("h2", {}, "What a deployment would do"),
        changeList(deployment), h("p"), deploy));
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

async function roles(scope, names) {
  const [{ roles: given }, schema] = await Promise.all([
    get("roles", scope), get("schema", scope),
  ]);
  const place = h("div");
  const set = async (user, role, isGiven) => {
    await post("roles/set", { ...scope, user, role, isGiven });
    tell(isGiven ? `${user} has ${role} now.` : `${user} has ${role} no more.`);
    show(place, () => roles(scope, names));
  };
  const user = h("input", { required: true, name: "role-user", list: "role-users",
    autocomplete: "off" });
  const choices = h("datalist", { id: "role-users" },
    names.users.map(({ name }) => h("option", { value: name })));
  const role = select(schema.roles, "", { name: "role" });
  const give = form(async () => {
    try {
      await set(user.value, role.value, true);
    } catch (error) {
      fail(user, error.message);
    }
  }, h("div", { class: "row" }, field("User", user), choices, field("Role", role),
    h("button", { class: "main" }, "Give")));
  add(place, h("section", { class: "card" }, table("Users with roles", [
    ["User", (entry) => entry.user || h("code", {}, entry.recordName)],
    ["Role", (entry) => [h("code", {}, entry.role),
      entry.isDropped && [" ", badge("not in the schema", "warn")]]],
    ["", (entry) => button("Take away", () => attempt(() =>
      set(entry.user || entry.recordName, entry.role, false)), "little bad"), "acts"],
  ], given, "No user has a role yet.")),
  h("section", { class: "card" }, h("h2", {}, "Give a role"), schema.roles.length === 0
    ? h("p", { class: "empty" }, "The schema creates no roles. Add one under Types.") : give));
  return place;
}
