// The console's page of what the node does now, with plots of its own.
//
// Served by `ConsoleFile`.

extension ConsoleFile {
    static let live = #"""
        // Page: what the node does now. It asks every 2 seconds, and draws the last 4 minutes.

        import { get } from "/console/api.js";
        import { add, button, bytes, h, number, problem, replace, table } from "/console/kit.js";
        import { plot } from "/console/plot.js";

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
        """#

    static let plot = #"""
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
        """#
}
