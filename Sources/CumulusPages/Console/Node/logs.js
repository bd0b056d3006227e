// Page: the newest lines of the process's log. It asks again every few seconds.

import { get } from "/console/api.js";
import { check, field } from "/console/forms.js";
import { badge, h, moment, number, problem, replace, select } from "/console/kit.js";
import { table } from "/console/table.js";

export const title = "Log";
export const about = "The newest lines that this process wrote to its log.";

const levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"];
const kinds = { warning: "warn", error: "bad", critical: "bad" };
const seconds = 5;

export function page(main) {
  const level = select([["trace", "All"], ["notice", "Notices and worse"],
    ["warning", "Warnings and worse"], ["error", "Errors"]], "trace", { name: "level" });
  const filter = h("input", { type: "search", name: "filter", placeholder: "Contains" });
  const follows = h("input", { type: "checkbox", name: "follow" });
  follows.checked = true;
  const place = h("section", { class: "card" });
  let answer = { isKept: true, lines: [] };
  let shown = "";

  function draw() {
    if (!answer.isKept) {
      return replace(place, h("p", { class: "empty" }, "This node keeps no lines to show."));
    }
    const wanted = filter.value.toLowerCase();
    const lines = answer.lines.filter((line) =>
      levels.indexOf(line.level) >= levels.indexOf(level.value)
      && JSON.stringify(line).toLowerCase().includes(wanted));
    // What is read or selected stays as long as nothing new comes.
    const key = JSON.stringify([lines.length, lines[0], level.value, wanted]);
    if (key === shown) return;
    shown = key;
    replace(place, logTable(lines), h("p", { class: "small muted" },
      `${number(lines.length)} of the newest ${number(answer.lines.length)} lines. The whole log `
      + "is where the process's standard error goes."));
  }

  let timer = 0;
  let isGone = false;
  async function turn() {
    if (!document.hidden && follows.checked) {
      try {
        answer = await get("logs");
        draw();
      } catch (error) {
        shown = "";
        replace(place, problem(error));
      }
    }
    if (!isGone) timer = setTimeout(turn, seconds * 1000);
  }

  level.addEventListener("change", draw);
  filter.addEventListener("input", draw);
  main.append(h("section", { class: "card" }, h("div", { class: "row" }, field("Level", level),
    field("Filter", filter, { class: "grow" }), check("Follow", follows))), place);
  turn();
  return () => {
    isGone = true;
    clearTimeout(timer);
  };
}

function logTable(lines) {
  const details = (line) => Object.entries(line.metadata ?? {}).map(([key, value]) =>
    h("div", {}, h("span", { class: "muted" }, `${key} `),
      typeof value === "string" ? value : JSON.stringify(value)));
  return table("Log", [
    ["When", (line) => moment(Date.parse(line.time), true)],
    ["Level", (line) => badge(line.level, kinds[line.level] ?? "grey"), "",
      (line) => levels.indexOf(line.level)],
    ["Message", (line) => [line.message, line.error && h("div", { class: "muted" }, line.error)],
      "wrap"],
    ["Details", details, "wrap small"],
  ], lines, "No line is like that.");
}
