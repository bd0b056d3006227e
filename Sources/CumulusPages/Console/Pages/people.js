// Page: users with their sessions, shares, zones and subscriptions; the keys of servers.

import { actsIn, get, post, session, web } from "/console/api.js";
import { add, attempt, badge, button, bytes, confirm, facts, field, form, h, many, mark,
  moment, number, replace, short, show, table, tabs } from "/console/kit.js";

export const title = "Users and keys";
export const about = "Who may come in, from which devices, and what users share.";

export async function page(main, { scope, rest, address }) {
  if (!scope.container) return void main.append(h("p", {}, "Create a container first."));
  add(main, tabs("Users and keys", [
    ["Users", () => users(scope, rest[0], address)], ["Service keys", () => keys(scope)],
  ], "Users"));
}

async function users(scope, chosen, address) {
  const { users: all } = await get("users", scope);
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
        show(detail, () => userDetail(scope, user, address));
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
    const done = await attempt(() => post("users/add", { ...scope, user: name.value }),
      `${name.value} is a user.`);
    if (done) location.hash = address("people", scope, [name.value]);
  }, h("div", { class: "row" }, field("New user", name, { class: "grow" }),
    h("button", {}, "Add")));
  return h("div", { class: "split" }, h("section", { class: "card stack" },
    h("h2", {}, many(all.length, "user")), field("Filter", filter), list, make), detail);
}

// One user

async function userDetail(scope, user, address) {
  const [profile, { sessions, now }, { shares }, zones] = await Promise.all([
    get("profile", { user: user.name }), get("sessions", { user: user.name }),
    get("shares", { ...scope, user: user.name }),
    user.recordName ? get("zones", { ...scope, owner: user.recordName })
      : { zones: [], count: 0, records: 0, bytes: 0 },
  ]);
  const again = () => {
    location.hash = address("people", scope, [user.name], { at: now });
  };
  const act = async (name, values, done) => {
    if (await attempt(() => post(name, { user: user.name, ...values }), done)) again();
  };
  const secret = h("div", { "aria-live": "polite" });
  return h("div", { class: "stack" },
    h("section", { class: "card" },
      h("h2", {}, user.name, user.isDisabled && [" ", badge("disabled", "warn")]),
      facts(["record name", h("code", {}, user.recordName || "not in this container")],
        ["since", moment(user.created)], ["shown as", profile.displayName || "–"],
        ["found by others", profile.isDiscoverable ? "yes" : "no"],
        ["handles", profile.handles.map((handle) => handle.value).join(", ") || "none"]),
      h("p"), h("div", { class: "row" },
        !user.isDisabled && button("Disable…", async () => {
          const isSure = await confirm(`Disable ${user.name}?`, "Each node ends the "
            + "user's sessions as soon as it hears of it. The data stays.", "Disable");
          if (isSure) act("users/state", { isDisabled: true }, `${user.name} is disabled.`);
        }, "bad"),
        user.isDisabled && button("Enable", () =>
          act("users/state", { isDisabled: false }, `${user.name} may come in.`)),
        button("Set password…", () => askForPassword(user, act)),
        button("New access token", () => attempt(async () => {
          const { accessToken } = await post("users/token", { user: user.name });
          replace(secret, h("p"), field("Access token, shown this once",
            h("input", { class: "mono", readonly: true, value: accessToken })));
        })),
        h("a", { href: address("sync", scope, [user.name]) },
          "Why does a device not sync?")), secret),
    sessionPart(user, sessions, act), sharePart(scope, shares, act), zonePart(zones),
    subscriptionPart(scope, user));
}

function askForPassword(user, act) {
  const password = h("input", { type: "password", autocomplete: "new-password",
    minlength: "8", required: true, name: "new-password" });
  const dialog = h("dialog", { "aria-labelledby": "password-title" });
  dialog.append(form(async () => {
    dialog.close();
    await act("users/password", { password: password.value },
      `${user.name} has a new password.`);
  }, h("h2", { id: "password-title" }, `Set the password of ${user.name}`),
  h("p", { class: "muted small" }, "All sessions that a password opened end."),
  field("Password, 8 characters at least", password),
  h("div", { class: "row" }, button("Cancel", () => dialog.close()),
    h("button", { class: "main" }, "Set"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function sessionPart(user, sessions, act) {
  return h("section", { class: "card" }, h("h2", {}, "Sessions and tokens"),
    table("Sessions", [
      ["Label", (each) => each.label || "–"],
      ["Kind", (each) => (each.kind === "access" ? badge("access token")
        : each.kind === "web" ? "browser" : "device")],
      ["Device", (each) => (each.device ? short(each.device) : "–")],
      ["Opened", (each) => moment(each.opened)],
      ["Ends", (each) => (each.expires === 0 ? "never" : moment(each.expires))],
      ["", (each) => button("Revoke", () => act("sessions/revoke", { id: each.id },
        "The session is revoked."), "little bad"), "acts"],
    ], sessions, "The user is signed in nowhere."),
    sessions.length > 0 && button("End all…", async () => {
      const isSure = await confirm("End all sessions?",
        `${user.name} has to sign in again on every device.`, "End all");
      if (isSure) act("sessions/revoke", {}, "All sessions are ended.");
    }, "bad"));
}

function sharePart(scope, shares, act) {
  const people = (share) => (share.participants ?? []).map((each) =>
    each.userIdentity.userRecordName ?? each.userIdentity.lookupInfo?.emailAddress
      ?? each.userIdentity.lookupInfo?.phoneNumber ?? "invited").join(", ");
  return h("section", { class: "card" }, h("h2", {}, "Shares of this user"),
    table("Shares", [
      ["Zone", (share) => share.zone],
      ["Of", (share) => share.forRecord?.recordName ?? "the whole zone"],
      ["Open to all", (share) => share.publicPermission.toLowerCase().replace("_", " ")],
      ["With", (share) => people(share) || "no participants yet", "cut"],
      ["", (share) => button("Stop…", async () => {
        const isSure = await confirm("Stop the share?",
          "All participants lose it on every device. The records stay.", "Stop sharing");
        if (isSure) {
          act("shares/stop", { ...scope, zone: share.zone, share: share.recordName },
            "The share is stopped.");
        }
      }, "little bad"), "acts"],
    ], shares, "The user shares nothing here."));
}

function zonePart(zones) {
  return h("section", { class: "card" }, h("h2", {}, "Private zones"),
    table("Private zones", [
      ["Zone", (zone) => zone.zone], ["Records", (zone) => number(zone.records), "number"],
      ["Fields", (zone) => bytes(zone.bytes), "number"],
      ["Assets", (zone) => bytes(zone.assetBytes), "number"],
      ["Digest", (zone) => short(zone.digest)],
    ], zones.zones, "The user has no records here."));
}

function subscriptionPart(scope, user) {
  const card = h("section", { class: "card" }, h("h2", {}, "Subscriptions"));
  if (!actsIn(scope) || session.user.recordName !== user.recordName) {
    return add(card, h("p", { class: "empty" }, "A node tells subscriptions to their user "
      + "only. Act as this user, at the top right, to see them."));
  }
  const place = h("div");
  show(place, () => subscriptions(scope));
  return add(card, place);
}

/// Of the user as whom the operator acts.
export async function subscriptions(scope) {
  const all = await Promise.all(["public", "private", "shared"].map(async (database) => {
    const answer = await web(scope, database, "subscriptions/list", {}, "user");
    return answer.subscriptions.map((each) => ({ ...each, database }));
  }));
  return table("Subscriptions", [
    ["Id", (each) => h("code", {}, each.subscriptionID)],
    ["Database", (each) => each.database], ["Kind", (each) => each.subscriptionType],
    ["To", (each) => each.query?.recordType ?? each.zoneID?.zoneName ?? "all zones"],
    ["Fires on", (each) => (each.firesOn ?? ["all changes"]).join(", ")],
  ], all.flat(), "The user has no subscriptions.");
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
