// Page: the settings with which the process runs, and where each value comes from.

import { get } from "/console/api.js";
import { check, field } from "/console/forms.js";
import { badge, h, replace } from "/console/kit.js";
import { table } from "/console/table.js";

export const title = "Settings";
export const about = "What this process was started with. A change needs a restart.";

export async function page(main) {
  const { settings } = await get("settings");
  const filter = h("input", { type: "search", name: "filter", placeholder: "Find a setting" });
  const isOnlySet = h("input", { type: "checkbox", name: "only-set" });
  const place = h("div", { class: "stack" });
  function draw() {
    const wanted = filter.value.toLowerCase();
    const some = settings.filter((each) => `${each.name} ${each.help}`.toLowerCase()
      .includes(wanted) && !(isOnlySet.checked && each.origin === "default"));
    const groups = [...new Set(some.map(({ group }) => group))];
    replace(place, groups.map((group) => h("section", { class: "card" }, h("h2", {}, group),
      settingTable(some.filter((each) => each.group === group)))),
    some.length === 0 && h("p", { class: "empty" }, "No setting is like that."));
  }
  filter.addEventListener("input", draw);
  isOnlySet.addEventListener("change", draw);
  main.append(h("section", { class: "card" }, h("div", { class: "row" },
    field("Filter", filter, { class: "grow" }),
    check("Only what is set", isOnlySet))), place,
  h("p", { class: "small muted" }, "A flag goes before a variable of the environment, and that "
    + "before the file of --config. Values that lead to keys are shown as set or not set."));
  draw();
}

function settingTable(settings) {
  return table("Settings", [
    ["Setting", (each) => h("code", {}, each.name)],
    ["Value", (each) => (each.value === null ? badge("set", "grey")
      : each.value === "" ? h("span", { class: "muted" }, "not set") : h("code", {}, each.value)),
    "wrap"],
    ["From", (each) => (each.origin === "default" ? h("span", { class: "muted" }, "default")
      : each.origin), "wrap"],
    ["What it is for", (each) => each.help, "wrap small"],
  ], settings, "");
}
