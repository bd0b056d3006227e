// Values of records: as lists and details show them, as forms take them, and by what they sort.

import { picture, sized } from "/console/assets.js";
import { badge, button, bytes, h, moment, number } from "/console/kit.js";

/// Characters of a text in a list.
const mostShown = 120;

/// A value in a list, in few words.
export function brief(record, key, state) {
  const entry = record.fields[key];
  if (!entry) return h("span", { class: "muted" }, "–");
  if (entry.type === "ASSETID") return picture(record, key, entry.value, state);
  if (entry.type === "TIMESTAMP") return moment(entry.value);
  if (entry.type === "REFERENCE") return state.names.of(entry.value.recordName) || plain(entry);
  const text = plain(entry);
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;
}

/// A value as text.
export function plain({ type, value }) {
  if (Array.isArray(value)) return value.map((each) => one(type, each)).join(", ");
  return one(type, value);
}

function one(type, value) {
  if (type.startsWith("TIMESTAMP")) return new Date(Number(value)).toISOString();
  if (type.startsWith("LOCATION")) return `${value.latitude}, ${value.longitude}`;
  if (type.startsWith("REFERENCE")) return value.recordName;
  if (type.startsWith("ASSET")) return bytes(value.size);
  if (type.startsWith("ENCRYPTED")) return "sealed by a client";
  return String(value);
}

/// A value with all that belongs to it.
export function whole(record, key, entry, state, follow) {
  const { type } = entry;
  if (type.startsWith("ASSETID")) {
    return [entry.value].flat().map((asset) => sized(record, key, asset, state));
  }
  if (type.startsWith("REFERENCE")) {
    return [entry.value].flat().map((reference) => [
      button(state.names.of(reference.recordName) || reference.recordName,
        () => follow(reference.recordName), "plain mono"),
      reference.action === "DELETE_SELF" && badge("goes with it", "grey"), " "]);
  }
  if (type === "TIMESTAMP") return moment(entry.value);
  if (type === "INT64") return number(BigInt(entry.value));
  if (type.startsWith("ENCRYPTED")) return badge("sealed by a client", "grey");
  return plain(entry);
}

/// What a list sorts a value by; empty for a field without one.
export function sortValue(entry) {
  if (!entry) return "";
  if (/^(INT64|DOUBLE|TIMESTAMP)$/.test(entry.type)) return Number(entry.value);
  if (entry.type === "ASSETID") return entry.value.size;
  return plain(entry);
}

// What is typed

const typeable = /^(STRING|INT64|DOUBLE|TIMESTAMP|BYTES|LOCATION|REFERENCE|NUMBER)$/;

/// The type of a field's values in web services; empty for what can't be typed.
export function typeTag(declared) {
  const list = declared.match(/^LIST<(\w+)>$/);
  const base = (list?.[1] ?? declared).replace(/ .*/, "");
  if (!typeable.test(base)) return "";
  return (base === "NUMBER" ? "DOUBLE" : base) + (list ? "_LIST" : "");
}

/// A value as it is typed.
export function shown(entry) {
  if (!entry) return "";
  const base = entry.type.replace(/_LIST$/, "");
  if (!Array.isArray(entry.value)) return one(base, entry.value);
  return JSON.stringify(entry.value.map((each) => one(base, each)));
}

/// What was typed as web services take it; null removes the field. Throws what is wrong.
export function typed({ tag, input, action }) {
  if (input.value === "") return null;
  const base = tag.replace(/_LIST$/, "");
  if (base === tag) return typedOne(base, input.value, action);
  let list;
  try { list = JSON.parse(input.value); } catch { list = null; }
  if (!Array.isArray(list)) throw new Error("Write a list as JSON, such as [\"a\", \"b\"].");
  return list.map((each) => typedOne(base, String(each), action));
}

const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];

function typedOne(base, word, action) {
  switch (base) {
    case "INT64":
      if (!/^-?\d+$/.test(word)) throw new Error("Write a whole number.");
      if (BigInt(word) < least || BigInt(word) > most) {
        throw new Error(`Write a number between ${least} and ${most}.`);
      }
      return word;
    case "DOUBLE":
      if (!Number.isFinite(Number(word))) throw new Error("Write a number.");
      return word;
    case "TIMESTAMP": {
      const time = Date.parse(word);
      if (Number.isNaN(time)) throw new Error("Write a time, such as 2026-11-30T12:00Z.");
      return String(time);
    }
    case "LOCATION": {
      const parts = word.split(",").map(Number);
      if (parts.length !== 2 || !parts.every(Number.isFinite)) {
        throw new Error("Write latitude and longitude, such as 48.1, 11.6.");
      }
      return { latitude: parts[0], longitude: parts[1] };
    }
    case "BYTES":
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(word)) throw new Error("Write bytes as base64.");
      return word;
    case "REFERENCE": return { recordName: word, action };
    default: return word;
  }
}
