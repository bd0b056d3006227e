// Page: the sessions and access tokens of all users, and the end of each.

import { get, post } from "/console/api.js";
import { field } from "/console/forms.js";
import { badge, button, h, moment, number, replace, short } from "/console/kit.js";
import { attempt, confirm } from "/console/notices.js";
import { table } from "/console/table.js";

export const title = "Sessions";
export const about = "Devices, browsers and tokens that let users in.";

/// Users whose sessions are asked for at once.
const perPage = 25;

export async function page(main, { names, address, scope }) {
  const users = [...(await names).users].sort((a, b) => (a.name < b.name ? -1 : 1));
  const filter = h("input", { type: "search", name: "filter", placeholder: "Find a user" });
  const place = h("section", { class: "card", "aria-live": "polite" });
  let start = 0;
  let asked = 0;

  async function fill() {
    const current = (asked += 1);
    const wanted = filter.value.toLowerCase();
    const found = users.filter((user) => user.name.toLowerCase().includes(wanted));
    const some = found.slice(start, start + perPage);
    place.setAttribute("aria-busy", "true");
    const answers = await Promise.allSettled(some.map(async (user) =>
      (await get("sessions", { user: user.name })).sessions
        .map((each) => ({ ...each, user: user.name }))));
    if (current !== asked) return;
    const sessions = answers.flatMap((answer) => answer.value ?? []);
    const failure = answers.find((answer) => answer.reason)?.reason;
    if (failure) replace(place, h("p", { class: "problem", role: "alert" }, failure.message));
    else replace(place, content(sessions, found.length, some.length));
    place.removeAttribute("aria-busy");
  }

  function content(sessions, count, shown) {
    const person = (name) => h("a", { href: address("people", scope, [name]) }, name);
    const turn = (step) => { start += step * perPage; return fill(); };
    return [sessionTable(sessions, revoke, ["User", (each) => person(each.user)]),
      count > perPage && h("div", { class: "row middle" },
        button("Previous users", () => turn(-1), "", { disabled: start === 0 }),
        button("Next users", () => turn(1), "", { disabled: start + shown >= count }),
        h("span", { class: "small muted" }, `Users ${number(start + 1)} to `
          + `${number(start + shown)} of ${number(count)}`))];
  }

  async function revoke(each) {
    const isSure = await confirm("Revoke the session?",
      `${each.user} has to sign in again there.`, "Revoke");
    if (!isSure) return;
    const done = await attempt(() => post("sessions/revoke", { user: each.user, id: each.id }),
      "The session is revoked.");
    if (done) await fill();
  }

  filter.addEventListener("input", () => { start = 0; fill(); });
  main.append(h("section", { class: "card" }, field("Filter", filter)), place);
  await fill();
}

const kinds = { access: "access token", web: "browser" };

/// A table of sessions, behind a first column if one is given.
export function sessionTable(sessions, revoke, first) {
  return table("Sessions", [
    ...(first ? [first] : []),
    ["Label", (each) => each.label || "–"],
    ["Kind", (each) => (each.kind === "access" ? badge(kinds.access)
      : kinds[each.kind] ?? "device")],
    ["Device", (each) => (each.device ? short(each.device) : "–")],
    ["Opened", (each) => moment(each.opened)],
    ["Ends", (each) => (each.expires === 0 ? "never" : moment(each.expires))],
    ["", (each) => button("Revoke", () => revoke(each), "little bad"), "acts"],
  ], sessions, first ? "Nobody is signed in." : "The user is signed in nowhere.");
}
