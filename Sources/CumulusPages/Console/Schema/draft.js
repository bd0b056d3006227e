// A schema that is being edited: as a text, and as the types that the text means.
//
// Called by the parts of the page Schema. The node reads the text; this module only writes one for
// types that a form changed, and lets the node bring it into its usual form.

import { post } from "/console/api.js";

/// Rights that every type has at first, as CloudKit's console gives them.
const usualGrants = [["_world", "READ"], ["_icloud", "CREATE"], ["_creator", "WRITE"]];

export class Draft {
  constructor(scope, schema) {
    this.scope = scope;
    this.saved = schema.text;
    this.changed = () => {};
    this.take(schema);
  }

  /// What can't be read of the text, or null.
  problem = null;

  take({ text, types, roles, changes = [] }) {
    this.text = text;
    this.types = types;
    this.roles = roles;
    this.changes = changes;
  }

  get isChanged() { return this.text !== this.saved; }

  /// Takes a text that was typed. It stays as it is typed, whether or not it can be read.
  async setText(text) {
    this.text = text;
    try {
      const answer = await this.read(text);
      if (this.text !== text) return;
      this.take({ ...answer, text });
      this.problem = null;
    } catch (error) {
      if (this.text !== text) return;
      this.problem = placed(error);
    }
    this.changed();
  }

  /// Changes the types; throws why the node can't take it, and then changes nothing.
  async edit(act) {
    const model = structuredClone({ types: this.types, roles: this.roles });
    act(model);
    try {
      this.take(await this.read(written(model)));
    } catch (error) {
      throw new Error(placed(error).message);
    }
    this.problem = null;
    this.changed();
  }

  read(text) { return post("schema/parse", { ...this.scope, text }); }

  /// Whether the text lacks what the schema has, or gives a field another type.
  get drops() { return this.changes.some((line) => /^- |^~ field \S+ type: /.test(line)); }

  /// Imports the text.
  async save() {
    const { changes } = await post("schema/import",
      { ...this.scope, text: this.text, drops: this.drops });
    this.saved = this.text;
    this.changes = [];
    return changes;
  }
}

/// An error of a text, with its line if it names one.
function placed(error) {
  const match = error.message.match(/^(\d+):(\d+): (.*)$/s);
  if (!match) return { message: error.message, line: 0, column: 0 };
  return { line: Number(match[1]), column: Number(match[2]), message: match[3] };
}

// Edits of types

export function newType(name) {
  return { name, fields: [{ name: "___recordID", type: "REFERENCE", indexes: ["QUERYABLE"] }],
    grants: usualGrants.map(([role, right]) => ({ role, rights: [right] })) };
}

export function typeNamed(model, name) { return model.types.find((type) => type.name === name); }

export function dropType(model, name) {
  model.types = model.types.filter((type) => type.name !== name);
}

export function dropField(model, typeName, name) {
  const type = typeNamed(model, typeName);
  type.fields = type.fields.filter((field) => field.name !== name);
}

/// The system fields that can have an index, with the indexes that they can have.
const systemFields = [
  ["___recordID", "REFERENCE", ["QUERYABLE", "SORTABLE"]],
  ["___createTime", "TIMESTAMP", ["QUERYABLE", "SORTABLE"]],
  ["___createdBy", "REFERENCE", ["QUERYABLE"]],
  ["___modTime", "TIMESTAMP", ["QUERYABLE", "SORTABLE"]],
  ["___modifiedBy", "REFERENCE", ["QUERYABLE"]],
];

/// The system fields of a type; the node tells only those with an index.
export function systemOf(type) {
  return systemFields.map(([name, kind, possible]) => ({ name, type: kind, possible,
    indexes: type.fields.find((field) => field.name === name)?.indexes ?? [] }));
}

/// Gives a field an index, or takes it away.
export function setIndex(model, typeName, field, index, isSet) {
  const type = typeNamed(model, typeName);
  let found = type.fields.find((other) => other.name === field);
  if (!found) {
    found = systemOf(type).find((other) => other.name === field);
    type.fields.push(found);
  }
  found.indexes = found.indexes.filter((other) => other !== index);
  if (isSet) found.indexes.push(index);
}

export function setGrant(model, typeName, role, right, isSet) {
  const type = typeNamed(model, typeName);
  let grant = type.grants.find((other) => other.role === role);
  if (!grant) {
    grant = { role, rights: [] };
    type.grants.push(grant);
  }
  grant.rights = grant.rights.filter((other) => other !== right);
  if (isSet) grant.rights.push(right);
  type.grants = type.grants.filter((other) => other.rights.length > 0);
}

// The text of a model

function written({ types, roles }) {
  const created = roles.map((role) => `CREATE ROLE ${quoted(role)};\n`);
  const defined = types.map(({ name, fields, grants }) => {
    const items = [
      ...fields.map((field) => [quoted(field.name), field.type, ...field.indexes].join(" ")),
      ...grants.map((grant) => `GRANT ${grant.rights.join(", ")} TO ${quoted(grant.role)}`),
    ];
    return `RECORD TYPE ${quoted(name)} (\n${items.join(",\n")}\n);\n`;
  });
  return ["DEFINE SCHEMA\n", ...created, ...defined].join("");
}

function quoted(name) {
  if (/["\p{Cc}]/u.test(name)) throw new Error("A name can't contain quotes or line ends.");
  return `"${name}"`;
}
