// A plot of the last minutes as SVG: up to three lines over time, with their newest values.

import { h, number, replace, span, svg } from "/console/kit.js";

const [width, height] = [560, 190];
const [left, right, top, bottom] = [46, 8, 8, 20];

/// A card with a plot; `draw` takes the points of each line, oldest first.
export function plot(title, lines, unit, { keep, seconds }) {
  const viewBox = `0 0 ${width} ${height}`;
  const image = svg("svg", { class: "plot", viewBox, role: "img" });
  const legend = h("ul", { class: "legend" });
  const element = h("section", { class: "card" }, h("h2", {}, title), legend, image);
  function draw(series) {
    const all = series.flat().filter((value) => value !== null);
    const most = nice(Math.max(0.5, ...all));
    // A minute at least, and all that is kept at most.
    const shown = Math.min(keep, Math.max(60 / seconds, series[0].length));
    const x = (index, count) => left
      + (width - left - right) * (shown - count + index) / (shown - 1);
    const y = (value) => top + (height - top - bottom) * (1 - value / most);
    replace(image, grid(most, y, shown * seconds),
      series.map((points, place) => line(points, place, x, y)));
    replace(legend, lines.map((name, place) => h("li", {}, mark(place),
      h("b", {}, told(series[place].at(-1))), `${unit} ${name}`)));
    const words = lines.map((name, place) =>
      `${name} ${told(series[place].at(-1))} ${unit}`);
    image.setAttribute("aria-label", `${title}: ${words.join(", ")}`);
  }
  return { element, draw };
}

function told(value) {
  if (value === null || value === undefined) return "–";
  const parts = value >= 100 ? 1 : value >= 1 ? 10 : 100;
  return number(Math.round(value * parts) / parts);
}

/// The next number that begins with 1, 2 or 5.
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function mark(place) {
  return svg("svg", { viewBox: "0 0 10 10", class: "plot", "aria-hidden": "true" },
    svg("circle", { cx: 5, cy: 5, r: 4, class: `s${place}` }));
}

function grid(most, y, seconds) {
  const rows = [0, 0.25, 0.5, 0.75, 1].map((part) => part * most);
  const label = (value) => (most < 4 ? value.toFixed(2).replace(/0$/, "") : number(value));
  return [rows.map((value) => [
    svg("line", { class: "gridline", x1: left, x2: width - right, y1: y(value),
      y2: y(value) }),
    svg("text", { x: left - 6, y: y(value) + 3, "text-anchor": "end" }, label(value)),
  ]), svg("text", { x: left, y: height - 5 }, `${span(seconds * 1000)} ago`),
  svg("text", { x: width - right, y: height - 5, "text-anchor": "end" }, "now")];
}

/// A line, broken where a point is missing, with a shade beneath.
function line(points, place, x, y) {
  let path = "";
  let shade = "";
  let start = null;
  points.forEach((value, index) => {
    if (value === null) return;
    const at = `${x(index, points.length).toFixed(1)} ${y(value).toFixed(1)}`;
    const begins = index === 0 || points[index - 1] === null;
    path += `${begins ? "M" : "L"}${at}`;
    if (begins) start = x(index, points.length);
    shade += begins ? `M${start.toFixed(1)} ${y(0)}L${at}` : `L${at}`;
    const ends = index === points.length - 1 || points[index + 1] === null;
    if (ends) shade += `L${x(index, points.length).toFixed(1)} ${y(0)}Z`;
  });
  return [svg("path", { class: `area s${place}`, d: shade }),
    svg("path", { class: `line s${place}`, d: path })];
}
