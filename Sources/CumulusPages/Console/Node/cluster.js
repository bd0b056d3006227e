// Page: the cluster. Members and how far they have read, digests, and what conflicts cost.

import { get, web } from "/console/api.js";
import { add, badge, button, bytes, facts, h, many, moment, number, short, show, span,
  tabs } from "/console/kit.js";
import { table } from "/console/table.js";

export const title = "Cluster";
export const about = "Every member holds all data. What one lacks, it is still to read.";

export function page(main, { scope, status, names }) {
  add(main, tabs("Parts of the cluster", [
    ["Members", () => members(status)], ["Lag and digests", () => lag(status)],
    ["Conflicts", async () => conflicts(scope, await names)],
  ], "Members"));
}

function memberState(member) {
  if (member.isRemoved) return badge("removed", "grey");
  if (member.isThis) return badge("this node", "good");
  return member.isConnected ? badge("connected", "good") : badge("not connected", "bad");
}

function memberName(member) { return member.endpoint || member.nodeID.slice(0, 12); }

async function members(status) {
  const { members: all } = await get("members");
  if (all.length === 0) {
    return h("section", { class: "card" }, h("p", { class: "empty" }, "This node stands "
      + "alone. 'cumulus cluster' explains how another one joins."));
  }
  const away = status.peers.filter((peer) => !peer.nodeID
    && !all.some((member) => member.endpoint === peer.endpoint));
  return h("div", { class: "grid" }, away.map(unreached), all.map((member) => {
    const missing = member.reports.reduce((sum, report) => sum + report.missing, 0);
    const lacks = missing === 0 ? "nothing" : many(missing, "commit");
    return h("section", { class: "card" },
      h("h2", {}, memberName(member), " ", memberState(member)),
      facts(["node", short(member.nodeID)], ["lacks", member.isThis ? "–" : lacks],
        ["heard", member.isThis ? "–" : member.heard
          ? `${span(status.now - member.heard)} ago` : "not since this node started"],
        ["clock", member.isThis ? "–" : clock(member.clockOffset)],
        ["log kept for it", bytes(member.logBytes)],
        member.stateAfter > 0 && ["log reaches until", moment(member.stateAfter)],
        member.twin && ["warning", badge(`another process at ${member.twin} has its id`,
          "bad")]));
  }));
}

function unreached(peer) {
  return h("section", { class: "card" },
    h("h2", {}, peer.endpoint, " ", badge("not reached", "bad")),
    facts(["why", peer.problem]));
}

function clock(offset) {
  const distance = `${number(Math.abs(offset))} ms`;
  return offset === 0 ? "the same" : `${distance} ${offset > 0 ? "ahead" : "behind"}`;
}

async function lag(status) {
  const { members: all } = await get("members");
  const others = all.filter((member) => !member.isThis && !member.isRemoved);
  const report = (scope, member) => member.reports.find((other) =>
    other.container === scope.container && other.environment === scope.environment);
  const agreements = { same: ["same", "good"], different: ["different", "bad"] };
  const cell = (scope, member) => {
    const told = report(scope, member);
    if (!told || !told.reported) return h("span", { class: "muted" }, "no report");
    if (told.missing > 0) return badge(`lacks ${number(told.missing)}`, "warn");
    return badge(...(agreements[told.agreement] ?? ["up to date"]));
  };
  return h("section", { class: "card" }, table("Scopes", [
    ["Container", (scope) => scope.container || "the cluster's own"],
    ["Environment", (scope) => (scope.container ? scope.environment : "")],
    ["Commits here", (scope) => number(scope.commits), "number"],
    ["Digest", (scope) => short(scope.digest)],
    ...others.map((member) => [memberName(member), (scope) => cell(scope, member)]),
  ], status.scopes, "This node holds nothing yet."),
  h("p", { class: "small muted" }, "Members with equal commits and digests hold the same. "
    + "'same' means that both had read as far and compared. 'different' means that a store "
    + "is damaged: 'cumulus verify' finds the records and mends them."));
}

// Conflicts

/// Conflicts whose present value is looked up at once.
const mostLookUps = 20;

async function conflicts(scope, names) {
  if (!scope.container) return h("p", { class: "empty" }, "Create a container first.");
  const { conflicts: all, count } = await get("conflicts", scope);
  const intro = h("p", { class: "muted" }, count === 0
    ? "This node met no concurrent changes that lost a value here."
    : `${many(count, "value was", "values were")} lost to a concurrent change on another `
      + "node, newest first. Other nodes may know of more.");
  const cards = all.map((each, index) => conflict(scope, each, names, index < mostLookUps));
  return h("div", { class: "stack" }, intro, cards);
}

function values(fields, field) {
  if (fields === null) return "private to its owner";
  const entries = Object.entries(fields).filter(([key]) => !field || key === field);
  if (entries.length === 0) return field ? "(removed)" : "(the record was deleted)";
  return facts(...entries.map(([key, entry]) => [h("code", {}, key),
    typeof entry.value === "object" ? JSON.stringify(entry.value) : String(entry.value)]));
}

function conflict(scope, each, names, looksUp) {
  const now = h("div");
  const look = () => show(now, () => stands(scope, each));
  if (each.database !== "public") add(now, "private to its owner");
  else if (looksUp) look();
  else add(now, button("Show what stands now", look, "little"));
  const owner = each.owner ? ` of ${names.of(each.owner) || each.owner}` : "";
  return h("section", { class: "card" },
    h("h2", {}, each.recordName, each.field ? [" · ", h("code", {}, each.field)] : ""),
    h("p", { class: "small muted" }, `${each.database}${owner}, zone ${each.zone}`),
    h("div", { class: "pair" },
      h("div", {}, h("h4", {}, "Lost, written ", moment(each.loser.time), " by ",
        h("code", {}, each.loser.commit)), values(each.lost, each.field)),
      h("div", {}, h("h4", {}, "Stands, written ", moment(each.winner.time), " by ",
        h("code", {}, each.winner.commit)), now)));
}

async function stands(scope, each) {
  const { records } = await web(scope, "public", "records/lookup",
    { records: [{ recordName: each.recordName }], numbersAsStrings: true });
  const [record] = records;
  if (record.serverErrorCode === "NOT_FOUND") return "The record is deleted.";
  if (record.serverErrorCode) throw new Error(record.reason);
  return values(record.fields, each.field);
}
