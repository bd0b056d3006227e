// Page: backups that this node makes of itself while it runs, and those it made.

import { get, post } from "/console/api.js";
import { fail, field, form } from "/console/forms.js";
import { badge, bytes, h, many, moment, show } from "/console/kit.js";
import { tell } from "/console/notices.js";
import { table } from "/console/table.js";

export const title = "Backups";
export const about = "A backup is a directory with all that this node holds.";

export function page(main) {
  const path = h("input", { name: "backup-path", required: true, class: "mono", size: "40",
    autocomplete: "off", placeholder: "/backups/monday" });
  const list = h("section", { class: "card" });
  const fill = () => show(list, made);
  const make = h("button", { class: "main" }, "Make a backup");
  const act = form(async () => {
    make.disabled = true;
    try {
      const { bytes: size, files } = await post("backups/make", { path: path.value });
      tell(`${path.value} is made: ${many(files, "file")}, ${bytes(size)}.`);
    } catch (error) {
      fail(path, error.message);
    } finally {
      make.disabled = false;
    }
    await fill();
  }, h("div", { class: "row" }, field("New directory on the node's machine", path,
    { class: "grow" }), make));
  main.append(h("section", { class: "card stack" }, act,
    h("p", { class: "small muted" }, "The directory holds the cluster's key and the operator "
      + "token, so guard it. On the node's own file system it is made of links to the store's "
      + "files: copy it to another disk. 'cumulusd --from-backup' begins a new node with it.")),
  list);
  fill();
}

async function made() {
  const { isKept, backups } = await get("backups");
  if (!isKept) {
    return h("p", { class: "empty" }, "This node keeps no audit log, which would tell which "
      + "backups it made.");
  }
  return [h("h2", {}, "Backups that this node made"), table("Backups", [
    ["When", (each) => moment(each.time)],
    ["Directory", (each) => h("code", {}, each.target ?? "–"), "wrap"],
    ["Outcome", (each) => (each.code === 0 ? badge("made", "good") : badge(each.reason, "bad"))],
  ], backups, "The audit log tells of none."),
  h("p", { class: "small muted" }, "From the audit log, as far as it reaches back. Directories may "
    + "have been moved or removed since.")];
}
