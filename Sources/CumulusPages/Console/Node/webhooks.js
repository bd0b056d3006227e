// Page: webhooks that subscriptions may name, and what became of their notifications.

import { get } from "/console/api.js";
import { badge, h, number, span } from "/console/kit.js";
import { table } from "/console/table.js";

export const title = "Webhooks";
export const about = "Servers that this cluster tells what subscriptions ask for.";

export async function page(main) {
  const { isSet, webhooks } = await get("webhooks");
  const hint = h("p", { class: "small muted" }, "The webhooks stand in the file of --webhooks, the "
    + "same on all nodes. One node of the cluster delivers; the numbers are of this node since its "
    + "start. Secrets and paths of URLs are not shown.");
  if (!isSet) {
    return void main.append(h("section", { class: "card stack" }, h("p", { class: "empty" },
      "This node knows no webhooks: it was started without --webhooks."), hint));
  }
  main.append(h("section", { class: "card stack" }, table("Webhooks", [
    ["Name", (each) => h("code", {}, each.name)],
    ["Server", (each) => [each.origin, each.isPrivate && [" ", badge("private", "grey")]], "wrap"],
    ["Containers", (each) => each.containers?.join(", ") ?? "all", "wrap"],
    ["State", (each) => state(each)],
    ["Taken", (each) => number(each.taken), "number"],
    ["Failed", (each) => number(each.failed), "number"],
    ["Waiting for", (each) => (each.lagSeconds > 0 ? span(each.lagSeconds * 1000) : "–"), "",
      (each) => each.lagSeconds],
  ], webhooks, "The file names no webhooks."), hint));
}

function state({ failuresInARow, taken }) {
  if (failuresInARow > 0) return badge(`${number(failuresInARow)} failures in a row`, "bad");
  return taken > 0 ? badge("works", "good") : badge("nothing was sent", "grey");
}
