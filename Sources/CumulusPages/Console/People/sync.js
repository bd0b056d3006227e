// Page: why a device did not sync. It asks what the node knows of a user's devices, and
// says what each answer means.

import { actsIn, get, session } from "/console/api.js";
import { field, form } from "/console/forms.js";
import { add, badge, bytes, h, many, moment, number, select, short, show,
  span } from "/console/kit.js";
import { table } from "/console/table.js";
import { subscriptions } from "/console/user.js";

export const title = "Why does a device not sync?";
export const about = "What this node knows of a user's devices, and what that means.";

export async function page(main, { scope, rest, status, address }) {
  if (!scope.container) return void main.append(h("p", {}, "Create a container first."));
  const { users } = await get("users", scope);
  if (users.length === 0) return void main.append(h("p", {}, "There are no users yet."));
  const names = users.map((user) => user.name);
  const choice = select(names, rest[0] ?? names[0], { name: "user" });
  const place = h("div", { "aria-live": "polite" });
  add(main, h("section", { class: "card" }, form(() => {
    location.hash = address("sync", scope, [choice.value]);
  }, h("div", { class: "row" }, field("User", choice),
    h("button", { class: "main" }, "Look")))), h("p"), place);
  const user = users.find(({ name }) => name === choice.value);
  await show(place, () => answers(scope, user, status));
}

const kinds = { ok: "good", look: "warn", wrong: "bad", info: "" };

function check(kind, heading, ...content) {
  const words = { ok: "fine", look: "look", wrong: "wrong", info: "known" };
  return h("li", {}, badge(words[kind], kinds[kind]),
    h("div", {}, h("b", {}, heading), content.map((each) =>
      (each instanceof Node ? each : h("div", { class: "muted" }, each)))));
}

async function answers(scope, user, status) {
  const [{ sessions, now }, { members }, refused, zones] = await Promise.all([
    get("sessions", { user: user.name }), get("members"),
    get("refusals", { user: user.name, id: user.id }),
    user.recordName ? get("zones", { ...scope, owner: user.recordName })
      : { zones: [], count: 0, records: 0, bytes: 0, assetBytes: 0 },
  ]);
  const own = actsIn(scope) && session.user.recordName === user.recordName;
  return h("div", { class: "stack" },
    h("section", { class: "card" }, h("h2", {}, "The node and its cluster"),
      h("ul", { class: "checks" }, nodeChecks(status), memberChecks(scope, members))),
    h("section", { class: "card" }, h("h2", {}, `Devices of ${user.name}`),
      h("ul", { class: "checks" }, deviceChecks(user, sessions)),
      devices(sessions, now)),
    h("section", { class: "card" }, h("h2", {}, "Refusals of the last day"),
      refusals(user, refused)),
    h("section", { class: "card" }, h("h2", {}, "What it should have"),
      h("ul", { class: "checks" }, dataChecks(user, zones, status)),
      table("Private zones", [
        ["Zone", (zone) => zone.zone],
        ["Records", (zone) => number(zone.records), "number"],
        ["Assets", (zone) => bytes(zone.assetBytes), "number", (zone) => zone.assetBytes],
        ["Older tokens", (zone) => (zone.hasHorizon ? badge("some have expired", "warn")
          : "all good")],
      ], zones.zones, "No zones with records.")),
    h("section", { class: "card" }, h("h2", {}, "What it is told"),
      own ? await told(scope) : h("p", { class: "empty" },
        `A node tells subscriptions and news to their user only. Act as ${user.name}, at `
        + "the top right, to see what waits for its devices.")),
    h("section", { class: "card" }, h("h2", {}, "What the node can't tell"),
      unknown()));
}

function nodeChecks(status) {
  const checks = [status.state === "ready"
    ? check("ok", "The node is ready", "It serves reads and writes.")
    : check("wrong", `The node is not ready: ${status.notReady || status.state}`,
      "Devices that are connected to it wait, or get errors that ask them to try again.")];
  if (status.wantedAssets > 0) {
    checks.push(check("look", `${many(status.wantedAssets, "asset")} still to come`,
      "Records name them, and the node has not all of their chunks. Devices get the "
      + "records and wait for the assets."));
  }
  return checks;
}

function memberChecks(scope, members) {
  const others = members.filter((member) => !member.isThis && !member.isRemoved);
  if (others.length === 0) {
    return [check("ok", "The node stands alone", "There is no other node that could lag.")];
  }
  return others.map((member) => {
    const name = member.endpoint || member.nodeID.slice(0, 12);
    const report = member.reports.find((each) => each.container === scope.container
      && each.environment === scope.environment);
    if (!member.isConnected) {
      return check("wrong", `${name} is not connected`,
        "A device there sees nothing new from here, and what it saves is not here yet.");
    }
    if (report?.missing > 0) {
      return check("look", `${name} lacks ${many(report.missing, "commit")}`,
        h("div", { class: "muted" }, "The oldest was made ", moment(report.oldestMissing),
          ". A device there does not see them yet."));
    }
    return check("ok", `${name} has all commits`, "It reported so when both last spoke.");
  });
}

function deviceChecks(user, sessions) {
  if (user.isDisabled) {
    return [check("wrong", "The user is disabled", "An operator keeps it out. No device of "
      + "the user gets anything until it is enabled again.")];
  }
  if (sessions.length === 0) {
    return [check("wrong", "The user is signed in nowhere", "No session is open. It never "
      + "signed in, changed its password, or its sessions ended or were revoked.")];
  }
  return [check("ok", `${many(sessions.length, "session is", "sessions are")} open`,
    "A device that is missing below has to sign in again. Sessions end if they are not "
    + "used for long.")];
}

function devices(sessions, now) {
  return table("Devices", [
    ["Device", (each) => (each.device ? short(each.device) : "–")],
    ["Label", (each) => each.label || (each.kind === "access" ? "access token" : "–")],
    ["Opened", (each) => moment(each.opened)],
    ["Open for", (each) => (each.expires === 0 ? "ever" : span(each.expires - now))],
  ], sessions, "None.");
}

const reasons = {
  notAuthenticated: "not signed in, or a wrong password",
  permissionFailure: "no right to it", requestRateLimited: "too many attempts",
};

function refusals(user, { isKept, refusals: all }) {
  if (!isKept) {
    return h("p", { class: "empty" }, "This node keeps no audit log (--audit-megabytes).");
  }
  return [table("Refusals", [
    ["When", (each) => moment(each.time)], ["Call", (each) => h("code", {}, each.method)],
    ["Why", (each) => reasons[each.reason] ?? each.reason],
    ["About", (each) => each.target ?? "–", "cut"], ["From", (each) => each.address ?? "–"],
  ], all, `This node refused ${user.name} nothing.`),
  h("p", { class: "small muted" }, "From this node's audit log; others have their own.")];
}

function dataChecks(user, zones, status) {
  const used = zones.bytes + zones.assetBytes;
  const quota = status.privateQuota;
  const checks = [check("info", `${many(zones.records, "record")} in `
    + many(zones.count, "private zone"), "Compare with what the device shows.")];
  if (quota > 0 && used > quota * 0.9) {
    const kind = used >= quota ? "wrong" : "look";
    checks.push(check(kind, "The private database is almost full",
      `${bytes(used)} of ${bytes(quota)} are taken. Saves are refused beyond.`));
  }
  if (zones.zones.some((zone) => zone.hasHorizon)) {
    checks.push(check("look", "Deletions of some zones are forgotten", "A device that was "
      + "away for long has a token from before. It is refused and fetches the zone anew."));
  }
  return checks;
}

async function told(scope) {
  const feed = await get("feed", { ...scope, as: "user" });
  const has = await subscriptions(scope);
  return [h("ul", { class: "checks" },
    feed.count === 0 ? check("info", "The feed holds no news", "Nothing that a "
      + "subscription asks for has changed as far back as the node keeps.")
      : check("info", `${many(feed.count, "notification")} in the feed, `
        + `${feed.unread} unread`, "A device that is connected was told all of them."),
    feed.isReset && check("look", "Not everything can be told", "The feed does not reach "
      + "back to all changes. Devices ask anew.")),
  h("h3", {}, "Subscriptions"), has, h("h3", {}, "Newest news"), table("News", [
    ["When", (each) => moment(each.changedAt)], ["What", (each) => each.what],
    ["Subscription", (each) => h("code", {}, each.subscriptionID)],
    ["", (each) => (each.isRead ? badge("read", "grey") : badge("unread"))],
  ], feed.notifications.slice(0, 20), "None.")];
}

function unknown() {
  return h("ul", { class: "muted" },
    h("li", {}, "How far each device has fetched: devices keep their tokens themselves."),
    h("li", {}, "Which errors a device met that the node did not refuse: its own log has "
      + "them."));
}
