// Page: containers and their environments, with what they hold.
//
// Folder: pages about the node and its cluster. A page's module has a title, a line about the page,
// and a function that fills it and may return what stops it. Read `containers.js`, then
// `cluster.js`.

import { get, post } from "/console/api.js";
import { fail, field, form } from "/console/forms.js";
import { badge, bytes, facts, figures, h, many, number, show, span } from "/console/kit.js";
import { tell } from "/console/notices.js";

export const title = "Containers";
export const about = "A container holds the data of an app, apart for each environment.";

export function page(main, { containers, status, open, address }) {
  const name = h("input", { required: true, placeholder: "iCloud.org.example.notes",
    class: "mono", size: "34", name: "new-container" });
  main.append(node(status));
  for (const container of containers) {
    main.append(h("section", { class: "card" }, h("h2", {}, container),
      h("div", { class: "grid" }, ["development", "production"].map((environment) =>
        part({ container, environment }, status, address)))));
  }
  main.append(h("section", { class: "card" }, h("h2", {}, "New container"),
    form(async () => {
      const container = name.value;
      try {
        await post("containers/create", { container });
      } catch (error) {
        return fail(name, error.message);
      }
      tell(`Container ${container} is there.`);
      await open();
    }, h("div", { class: "row" }, field("Name", name),
      h("button", { class: "main" }, "Create")))));
}

function node(status) {
  const state = badge(status.state, status.state === "ready" ? "good" : "warn");
  return h("section", { class: "card" }, h("h2", {}, "This node ", state),
    figures(["up for", span(status.now - status.started)], ["version", status.version],
      ["disk free", bytes(status.freeBytes)], ["assets", bytes(status.assetBytes)],
      ["log of commits", bytes(status.logBytes)]));
}

function part(scope, status, address) {
  const held = status.scopes.find((other) => other.container === scope.container
    && other.environment === scope.environment);
  const body = h("div");
  show(body, async () => {
    const zones = await get("zones", scope);
    const owners = new Set(zones.zones.map((zone) => zone.owner).filter(Boolean));
    return [
      figures(["records", number(zones.records)], ["zones", number(zones.count)],
        ["fields", bytes(zones.bytes)], ["assets", bytes(zones.assetBytes)]),
      facts(["commits", number(held?.commits ?? 0)],
        ["private databases", many(owners.size, "user")]),
    ];
  });
  const links = [["schema", "Schema"], ["records", "Records"], ["people", "Users"]];
  return h("div", {}, h("h3", {}, scope.environment), body, h("p", { class: "small" },
    links.map(([page, text], index) => [index ? " · " : "",
      h("a", { href: address(page, scope) }, text)])));
}
