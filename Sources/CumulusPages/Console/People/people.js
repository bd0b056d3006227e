// Page: users with their sessions, shares, zones and subscriptions; the keys of servers.
//
// Folder: pages about who may come in. Read `people.js`, `user.js`, then `sessions.js`.

import { get, post } from "/console/api.js";
import { fail, field, form } from "/console/forms.js";
import { add, badge, button, h, many, mark, moment, replace, short, show,
  tabs } from "/console/kit.js";
import { attempt, confirm, tell } from "/console/notices.js";
import { table } from "/console/table.js";
import { userDetail } from "/console/user.js";

export const title = "Users and keys";
export const about = "Who may come in, from which devices, and what users share.";

export async function page(main, { scope, rest, address, names }) {
  if (!scope.container) return void main.append(h("p", {}, "Create a container first."));
  add(main, tabs("Users and keys", [
    ["Users", async () => users(scope, rest[0], address, await names)],
    ["Service keys", () => keys(scope)],
  ], "Users"));
}

async function users(scope, chosen, address, names) {
  const all = names.users;
  const filter = h("input", { type: "search", name: "filter", placeholder: "Find a name" });
  const list = h("ul", { class: "list" });
  const detail = h("div");
  const fill = () => {
    const wanted = filter.value.toLowerCase();
    const some = all.filter((user) => `${user.name} ${user.recordName}`.toLowerCase()
      .includes(wanted));
    replace(list, some.slice(0, 200).map((user) => {
      const name = [user.name, user.isDisabled && [" ", badge("disabled", "warn")]];
      const each = button(name, () => {
        mark(list.querySelectorAll("button"), each);
        show(detail, () => userDetail(scope, user, address, names));
      });
      if (user.name === chosen) queueMicrotask(() => each.click());
      return h("li", {}, each);
    }), some.length > 200
      && h("li", { class: "muted small" }, `${some.length - 200} more`));
  };
  filter.addEventListener("input", () => { chosen = undefined; fill(); });
  chosen ??= all[0]?.name;
  fill();
  const name = h("input", { name: "new-user", required: true });
  const make = form(async () => {
    try {
      const { existed } = await post("users/add", { ...scope, user: name.value });
      if (existed) return fail(name, "There is such a user already.");
    } catch (error) {
      return fail(name, error.message);
    }
    tell(`${name.value} is a user.`);
    location.hash = address("people", scope, [name.value]);
  }, h("div", { class: "row" }, field("New user", name, { class: "grow" }),
    h("button", {}, "Add")));
  return h("div", { class: "split" }, h("section", { class: "card stack" },
    h("h2", {}, many(all.length, "user")), field("Filter", filter), list, make), detail);
}

// Keys of servers

async function keys(scope) {
  const place = h("div");
  const fill = () => show(place, async () => {
    const { keys: all, now } = await get("keys", scope);
    return h("section", { class: "card" }, table("Service keys", [
      ["Label", (key) => key.label || "–"], ["Id", (key) => short(key.id)],
      ["Record name", (key) => short(key.recordName)],
      ["Added", (key) => moment(key.created)],
      ["Ends", (key) => (key.expires === 0 ? "never" : key.expires < now
        ? badge("ended", "grey") : moment(key.expires))],
      ["", (key) => button("Revoke…", async () => {
        const isSure = await confirm(`Revoke ${key.label || "the key"}?`,
          "Its server is refused from now on. The key can't come back.", "Revoke");
        if (!isSure) return;
        const revoke = () => post("keys/revoke", { id: key.id });
        if (await attempt(revoke, "The key is revoked.")) fill();
      }, "little bad"), "acts"],
    ], all, "No server has a key here. 'cumulus key add' registers one."));
  });
  await fill();
  return place;
}
