// Page: the audit log of the answering node. Who came in, who was refused, what operators did.

import { get } from "/console/api.js";
import { field, form } from "/console/forms.js";
import { badge, button, dotted, h, moment, number, replace, select } from "/console/kit.js";
import { attempt } from "/console/notices.js";
import { table } from "/console/table.js";

export const title = "Audit log";
export const about = "Who came in, who was refused, and what operators did on this node.";

export async function page(main, { values, address, scope, remember, names }) {
  const outcome = select([["", "All"], ["done", "Done"], ["refused", "Refused"]],
    values.get("outcome") ?? "", { name: "outcome" });
  const method = h("input", { name: "method", class: "mono", size: "22", autocomplete: "off",
    placeholder: "RECORDS_MODIFY", value: values.get("method") ?? "" });
  const text = h("input", { name: "text", type: "search", placeholder: "A user, an address",
    value: values.get("text") ?? "" });
  const place = h("section", { class: "card", "aria-live": "polite" });
  const people = await names;

  async function run() {
    const filter = { outcome: outcome.value, method: method.value.trim().toUpperCase(),
      text: text.value };
    remember(address("audit", scope, [], filter));
    replace(place, content(await get("audit", filter), filter));
  }

  function content({ isKept, lines, cursor }, filter) {
    if (!isKept) {
      return h("p", { class: "empty" }, "This node keeps no audit log. The setting "
        + "--audit-megabytes turns it on.");
    }
    let next = cursor;
    let all = lines;
    const list = h("div");
    const draw = () => replace(list, auditTable(all, people), h("div", { class: "row middle" },
      next && button("Show older", () => attempt(more)),
      h("span", { class: "small muted" }, `${number(all.length)} lines`)));
    async function more() {
      const answer = await get("audit", { ...filter, cursor: next });
      all = [...all, ...answer.lines];
      next = answer.cursor;
      draw();
    }
    draw();
    return list;
  }

  main.append(h("section", { class: "card" }, form(run, h("div", { class: "row" },
    field("Outcome", outcome), field("Call", method), field("Contains", text, { class: "grow" }),
    h("button", { class: "main" }, "Show")))), place,
  h("p", { class: "small muted" }, "Each node has a log of its own. Refusals and acts are kept "
    + "apart, and shown here as one list."));
  outcome.addEventListener("change", () => attempt(run));
  await run();
}

/// Lines of an audit log.
export function auditTable(lines, people) {
  const caller = (line) => [line.caller, line.id && [" ", people.who(line.id)]];
  return table("Audit log", [
    ["When", (line) => (line.time ? moment(line.time, true) : "–")],
    ["Caller", (line) => (line.lostLines ? badge(`${line.lostLines} lines were lost`, "warn")
      : caller(line))],
    ["Call", (line) => h("code", {}, line.method ?? "")],
    ["Outcome", (line) => [line.code === 0 ? badge("done", "good")
      : line.reason && badge(line.reason, "bad"),
    line.leftOut && h("div", { class: "small muted" }, `and ${number(line.leftOut)} before`)]],
    ["About", (line) => line.target ?? "–", "wrap"],
    ["Container", (line) => dotted(line.container ?? "–"), "wrap"],
    ["From", (line) => line.address ?? "–"],
  ], lines, "No line of the log is like that.");
}
