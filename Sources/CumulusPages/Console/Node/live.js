// Page: what the node does now. It asks every 2 seconds, and draws the last 4 minutes.

import { get } from "/console/api.js";
import { add, button, bytes, h, number, problem, replace } from "/console/kit.js";
import { plot } from "/console/plot.js";
import { table } from "/console/table.js";

export const title = "Live";
export const about = "What this node does now, asked every 2 seconds.";

const seconds = 2;
const keep = 120;

/// What stays while other pages are shown.
const samples = [];

export function page(main) {
  const settings = { keep, seconds };
  const plots = [
    [plot("Load", ["calls", "commits", "from peers"], "/s", settings), (a, b) => [
      rate(a, b, "cumulus_calls_total"), rate(a, b, "cumulus_commits_total"),
      rate(a, b, "cumulus_received_commits_total")]],
    [plot("Time to an answer", ["median", "95 %", "99 %"], "ms", settings), (a, b) => [
      share(a, b, 0.5), share(a, b, 0.95), share(a, b, 0.99)]],
    [plot("Errors", ["calls", "web refused", "web failed"], "/s", settings), (a, b) => [
      step(a, b, (each) => each.failed), step(a, b, (each) => each.web.refused),
      step(a, b, (each) => each.web.failed)]],
    [plot("Connections", ["connections", "calls in progress"], "", settings), (a, b) => [
      b.values.cumulus_connections, b.values.cumulus_calls_in_progress]],
    [plot("Disk", ["flushes", "reads and writes"], "/s", settings), (a, b) => [
      rate(a, b, "cumulus_flushes_total"), rate(a, b, "cumulus_engine_calls_total")]],
    [plot("Memory of requests", ["held"], "kB", settings), (a, b) => [
      b.values.cumulus_held_bytes / 1000]],
  ];
  const note = h("div");
  const all = h("div");
  const pause = button("Pause", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Go on" : "Pause";
  });
  add(main, h("div", { class: "row" }, pause, note), h("p"),
    h("div", { class: "grid plots" }, plots.map(([each]) => each.element)), h("p"),
    h("details", { class: "card" }, h("summary", {}, "All numbers"), all));
  let isPaused = false;
  let timer = 0;

  async function turn() {
    if (!isPaused && !document.hidden) {
      try {
        take(await sample());
        note.replaceChildren();
      } catch (error) {
        take(null);
        replace(note, problem(error));
      }
      draw(plots);
      replace(all, numbers(samples.at(-1)));
    }
    timer = setTimeout(turn, seconds * 1000);
  }
  turn();
  return () => clearTimeout(timer);
}

async function sample() {
  const at = performance.now();
  const answer = await get("live");
  const values = Object.fromEntries(answer.metrics.map(({ name, value }) => [name, value]));
  return { ...answer, values, at };
}

function take(one) {
  samples.push(one);
  if (samples.length > keep) samples.shift();
}

function draw(plots) {
  for (const [each, read] of plots) {
    const points = samples.slice(1).map((after, index) =>
      (after && samples[index] ? read(samples[index], after) : null));
    const count = points.find((point) => point)?.length ?? each.element
      .querySelectorAll(".legend li").length;
    const lines = Array.from({ length: Math.max(count, 3) }, (_, line) =>
      points.map((point) => point?.[line] ?? null));
    each.draw(lines);
  }
}

/// How fast something grew between two samples, per second.
function step(before, after, read) {
  // A node that began anew counts from 0.
  const grown = read(after) - read(before);
  return Math.max(0, grown) / ((after.at - before.at) / 1000);
}

function rate(before, after, name) {
  return step(before, after, (each) => each.values[name]);
}

/// The time within which a share of the calls between two samples was answered. Calls of a
/// step count as spread evenly over it.
function share(before, after, part) {
  const counts = after.steps.map(({ calls }, index) =>
    Math.max(0, calls - before.steps[index].calls));
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let rest = all * part;
  const place = counts.findIndex((count) => {
    if (count >= rest) return true;
    rest -= count;
    return false;
  });
  const from = place > 0 ? after.steps[place - 1].microseconds : 0;
  // The last step has no end.
  const to = after.steps[place].microseconds ?? from;
  return (from + (to - from) * rest / counts[place]) / 1000;
}

function numbers(one) {
  if (!one) return h("p", { class: "empty" }, "The node did not answer.");
  return table("All numbers", [
    ["Name", (each) => h("code", {}, each.name)], ["What it is", (each) => each.help],
    ["Value", (each) => (each.name.endsWith("_bytes") ? bytes(each.value)
      : number(each.value)), "number"],
  ], one.metrics, "");
}
