// Part of the page Schema: record types as a form, with the text beside it.

import { Draft, dropField, dropType, newType, setGrant, setIndex, systemOf,
  typeNamed } from "/console/draft.js";
import { fail, field, form, guard } from "/console/forms.js";
import { badge, button, h, many, mark, replace, select } from "/console/kit.js";
import { lineEditor } from "/console/lines.js";
import { attempt, confirm, openDialog } from "/console/notices.js";
import { table } from "/console/table.js";

const indexes = ["QUERYABLE", "SORTABLE", "SEARCHABLE"];
const rights = ["READ", "CREATE", "WRITE"];
const simple = ["STRING", "INT64", "DOUBLE", "TIMESTAMP", "BYTES", "LOCATION", "REFERENCE",
  "ASSET"];
const sealed = simple.filter((type) => type !== "REFERENCE" && type !== "ASSET");
const kinds = [...simple, ...simple.map((type) => `LIST<${type}>`),
  ...sealed.map((type) => `ENCRYPTED ${type}`), ...sealed.map((type) => `LIST<ENCRYPTED ${type}>`)];

export function typesPart(scope, schema, wanted) {
  const isFixed = scope.environment === "production";
  const draft = new Draft(scope, schema);
  const list = h("section", { class: "card stack" });
  const detail = h("section", { class: "card stack", "aria-label": "Record type" });
  const changes = h("div", { class: "stack", "aria-live": "polite" });
  const text = lineEditor({ name: "schema", label: "Schema language (.ckdb)", isFixed,
    changed: (value) => draft.setText(value) });
  let chosen = wanted;

  function choose(name) {
    chosen = name;
    draw();
    text.reveal(`RECORD TYPE ${name} `);
  }
  function draw() {
    text.set(draft.text);
    text.mark(draft.problem);
    const type = typeNamed(draft, chosen) ?? draft.types[0];
    chosen = type?.name;
    drawList(list, draft, chosen, isFixed, choose);
    replace(detail, type ? typeForm(draft, type, isFixed)
      : h("p", { class: "empty" }, "There are no record types yet. Add one."));
    replace(changes, isFixed ? h("p", { class: "small muted" }, "Production changes by a "
      + "deployment of what development has, under Differences.") : changesPart(draft, draw));
  }
  draft.changed = () => {
    const name = document.activeElement?.name;
    draw();
    // The form is made anew; the keyboard stays where it was.
    if (name && name !== "schema") detail.querySelector(`[name="${CSS.escape(name)}"]`)?.focus();
  };
  draw();
  const element = h("div", { class: "split three" }, list, detail,
    h("section", { class: "card stack text" }, h("h2", {}, "Text"), text.element, text.note,
      changes));
  guard(element, () => draft.isChanged);
  // The text has a height once it is shown.
  requestAnimationFrame(() => text.reveal(`RECORD TYPE ${chosen} `));
  return element;
}

function drawList(list, draft, chosen, isFixed, choose) {
  const buttons = draft.types.map((type) => button(type.name, () => choose(type.name)));
  mark(buttons, buttons.find((each) => each.textContent === chosen));
  replace(list, h("h2", {}, many(draft.types.length, "type")),
    h("ul", { class: "list" }, buttons.map((each) => h("li", {}, each))),
    !isFixed && button("Add type…", () => askForType(draft, choose)));
}

function askForType(draft, choose) {
  const name = h("input", { name: "new-type", required: true, autocomplete: "off" });
  return openDialog("Add a record type", (close) => form(async () => {
    if (typeNamed(draft, name.value)) return fail(name, "There is such a type already.");
    try {
      await draft.edit((model) => { model.types.push(newType(name.value)); });
    } catch (error) {
      return fail(name, error.message);
    }
    close();
    choose(name.value);
  }, field("Name", name, { hint: "Letters, digits and underscores, such as Note" }),
  h("p", { class: "small muted" }, "All may read its records, users may create them, and "
    + "creators may change theirs, until you change the grants."),
  h("div", { class: "row" }, button("Cancel", () => close()),
    h("button", { class: "main" }, "Add"))));
}

// One type

function typeForm(draft, type, isFixed) {
  const own = type.fields.filter((each) => !each.name.startsWith("___"));
  const columns = [
    ["Field", (each) => h("code", {}, each.name)], ["Type", (each) => each.type],
    ...indexes.map((index) => indexColumn(draft, type, index, isFixed)),
  ];
  const remove = ["", (each) => button("✕", () => attempt(() =>
    draft.edit((model) => dropField(model, type.name, each.name))), "little bad",
  { "aria-label": `Remove ${each.name}` }), "acts"];
  return [
    h("div", { class: "row middle" }, h("h2", { class: "grow" }, type.name),
      !isFixed && type.name !== "Users" && button("Remove type", () => attempt(() =>
        draft.edit((model) => dropType(model, type.name))), "little bad")),
    table("Fields", isFixed ? columns : [...columns, remove], own, "No fields of its own."),
    !isFixed && fieldForm(draft, type),
    h("h3", {}, "System fields"), h("p", { class: "small muted" }, "With '___recordID' queryable, "
      + "queries find all records of the type."),
    table("System fields", columns, systemOf(type), ""),
    h("h3", {}, "Grants in the public database"), grants(draft, type, isFixed),
    !isFixed && roleForm(draft),
  ];
}

function indexColumn(draft, type, index, isFixed) {
  const has = (field) => field.indexes.includes(index);
  const cell = (field) => (isFixed ? tick(has(field))
    : box(`${type.name}.${field.name}.${index}`, has(field), !field.possible.includes(index),
      (isSet) => draft.edit((model) =>
        setIndex(model, type.name, field.name, index, isSet))));
  return [index.replace("ABLE", "").toLowerCase(), cell, "tick", (field) => Number(!has(field))];
}

/// What can't be changed here.
function tick(isSet) { return isSet ? h("span", { role: "img", "aria-label": "yes" }, "✓") : ""; }

/// A box that acts at once.
function box(name, isChecked, isDisabled, act) {
  const input = h("input", { type: "checkbox", name, "aria-label": name.split(".").join(" "),
    disabled: isDisabled });
  input.checked = isChecked;
  input.addEventListener("change", async () => {
    if (!await attempt(() => act(input.checked))) input.checked = !input.checked;
  });
  return input;
}

function fieldForm(draft, type) {
  const name = h("input", { name: "new-field", required: true, autocomplete: "off", size: "14" });
  const kind = select(kinds, "STRING", { name: "new-field-type" });
  return form(async () => {
    if (type.fields.some((each) => each.name === name.value)) {
      return fail(name, "There is such a field already.");
    }
    try {
      await draft.edit((model) => {
        typeNamed(model, type.name).fields.push({ name: name.value, type: kind.value,
          indexes: [] });
      });
    } catch (error) {
      fail(name, error.message);
    }
  }, h("div", { class: "row" }, field("New field", name), field("Type", kind),
    h("button", {}, "Add field")));
}

function grants(draft, type, isFixed) {
  const roles = new Set(["_world", "_icloud", "_creator", ...draft.roles,
    ...type.grants.map((grant) => grant.role)]);
  const has = (role, right) => type.grants.some((grant) =>
    grant.role === role && grant.rights.includes(right));
  const meanings = { _world: "everybody", _icloud: "signed-in users", _creator: "who made it" };
  return table("Grants", [
    ["Role", (role) => [h("code", {}, role), " ",
      meanings[role] && h("span", { class: "small muted" }, meanings[role])]],
    ...rights.map((right) => [right.toLowerCase(), (role) => (isFixed ? tick(has(role, right))
      : box(`${type.name}.${role}.${right}`, has(role, right), false, (isSet) =>
        draft.edit((model) => setGrant(model, type.name, role, right, isSet)))), "tick"]),
  ], [...roles], "");
}

function roleForm(draft) {
  const name = h("input", { name: "new-role", required: true, autocomplete: "off", size: "14" });
  return form(async () => {
    try {
      await draft.edit((model) => { model.roles.push(name.value); });
    } catch (error) {
      fail(name, error.message);
    }
  }, h("div", { class: "row" }, field("New role", name), h("button", {}, "Add role")));
}

// What an import changes

function changesPart(draft, draw) {
  if (!draft.isChanged) return h("p", { class: "small muted" }, "Nothing is changed yet.");
  const save = button("Import into development", () => saveDraft(draft, draw), "main",
    { disabled: draft.problem !== null });
  return [draft.problem === null && [h("h3", {}, "An import changes"), changeList(draft.changes)],
    draft.drops && h("p", { class: "small" }, badge("drops", "bad"),
      " What records hold in removed types and fields is gone for good."),
    h("div", { class: "row" }, save, button("Discard", () => draft.setText(draft.saved)))];
}

async function saveDraft(draft, draw) {
  const isSure = !draft.drops || await confirm("Drop types or fields?",
    "What records hold in them is gone for good, on all nodes.", "Import and drop");
  if (!isSure) return;
  if (await attempt(() => draft.save(), "The schema is imported.")) draw();
}

export function changeList(changes) {
  if (changes.length === 0) return h("p", { class: "empty" }, "Nothing.");
  const marks = { "+": "plus", "-": "minus" };
  return h("ul", { class: "changes" }, changes.map((line) =>
    h("li", { class: marks[line[0]] ?? "" }, line)));
}
