// Page: web apps whose API tokens this node accepts.

import { get } from "/console/api.js";
import { badge, dotted, h } from "/console/kit.js";
import { table } from "/console/table.js";

export const title = "Web apps";
export const about = "Apps in browsers that may call this node, and the origins of their pages.";

export async function page(main) {
  const { isSet, apps } = await get("webapps");
  const hint = h("p", { class: "small muted" }, "The apps stand in the file of --web-apps, the "
    + "same on all nodes, which is read again when it changes. Tokens are not shown; an app's id "
    + "is the beginning of its token's SHA-256.");
  if (!isSet) {
    return void main.append(h("section", { class: "card stack" }, h("p", { class: "empty" },
      "This node takes no web apps: it was started without --web-apps."), hint));
  }
  main.append(h("section", { class: "card stack" }, table("Web apps", [
    ["Id", (app) => h("code", {}, app.id)], ["Container", (app) => dotted(app.container), "wrap"],
    ["Environment", (app) => app.environment],
    ["Origins", (app) => (app.origins.length > 0 ? app.origins.map((each) => h("div", {}, each))
      : badge("any", "warn")), "wrap"],
    ["Signed-in users", (app) => app.callback ?? "by a message to the page", "wrap"],
  ], apps, "The file names no apps."), hint));
}
