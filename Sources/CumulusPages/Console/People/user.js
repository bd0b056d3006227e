// One user: its profile, sessions, shares, zones and subscriptions, and what may be changed of it.

import { actsIn, get, post, session, web } from "/console/api.js";
import { fail, field, form } from "/console/forms.js";
import { add, badge, button, bytes, facts, h, moment, number, replace, short,
  show } from "/console/kit.js";
import { attempt, confirm, openDialog, tell } from "/console/notices.js";
import { sessionTable } from "/console/sessions.js";
import { table } from "/console/table.js";

export async function userDetail(scope, user, address, names) {
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
        button("Set password…", () => askForPassword(user, again)),
        button("New access token", () => attempt(async () => {
          const { accessToken } = await post("users/token", { user: user.name });
          replace(secret, h("p"), field("Access token, shown this once",
            h("input", { class: "mono", readonly: true, value: accessToken })));
        })),
        h("a", { href: address("sync", scope, [user.name]) },
          "Why does a device not sync?")), secret),
    sessionPart(user, sessions, act), sharePart(scope, shares, act, names), zonePart(zones),
    subscriptionPart(scope, user));
}

function askForPassword(user, done) {
  const password = h("input", { type: "password", autocomplete: "new-password",
    minlength: "8", required: true, name: "new-password" });
  return openDialog(`Set the password of ${user.name}`, (close) => form(async () => {
    try {
      await post("users/password", { user: user.name, password: password.value });
    } catch (error) {
      return fail(password, error.message);
    }
    close();
    tell(`${user.name} has a new password.`);
    done();
  }, h("p", { class: "muted small" }, "All sessions that a password opened end."),
  field("Password", password, { hint: "8 characters at least" }),
  h("div", { class: "row" }, button("Cancel", () => close()),
    h("button", { class: "main" }, "Set"))));
}

function sessionPart(user, sessions, act) {
  return h("section", { class: "card" }, h("h2", {}, "Sessions and tokens"),
    sessionTable(sessions, (each) => act("sessions/revoke", { id: each.id },
      "The session is revoked.")),
    sessions.length > 0 && button("End all…", async () => {
      const isSure = await confirm("End all sessions?",
        `${user.name} has to sign in again on every device.`, "End all");
      if (isSure) act("sessions/revoke", {}, "All sessions are ended.");
    }, "bad"));
}

function sharePart(scope, shares, act, names) {
  const people = (share) => (share.participants ?? []).map((each) =>
    names.of(each.userIdentity.userRecordName) || each.userIdentity.userRecordName
      || each.userIdentity.lookupInfo?.emailAddress
      || each.userIdentity.lookupInfo?.phoneNumber || "invited").join(", ");
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
      ["Fields", (zone) => bytes(zone.bytes), "number", (zone) => zone.bytes],
      ["Assets", (zone) => bytes(zone.assetBytes), "number", (zone) => zone.assetBytes],
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
