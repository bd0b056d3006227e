// Files of records: shown as pictures, chosen in a form, and uploaded when it is saved.

import { assetURL, mostFileBytes, upload, web } from "/console/api.js";
import { zoneOf } from "/console/find.js";
import { fail } from "/console/forms.js";
import { button, bytes, h, replace } from "/console/kit.js";

/// The zone that a request about a record names.
export function zoneFor(record, state) {
  return record.zoneID && state.database !== "public"
    ? { zoneID: record.zoneID } : zoneOf(state);
}

/// What names a record's field in calls for its files.
function place(record, key, state) {
  const zone = zoneFor(record, state).zoneID ?? {};
  return { ...state.scope, database: state.database, zone: zone.zoneName,
    owner: state.database === "shared" ? zone.ownerRecordName : "", field: key };
}

/// A picture; for other assets a link, by default with their size.
export function picture(record, key, asset, state, label = bytes(asset.size)) {
  const address = assetURL({ ...place(record, key, state), record: record.recordName,
    digest: asset.fileChecksum, size: asset.size, as: state.as });
  const image = h("img", { class: "asset", alt: `${key} of ${record.recordName}`,
    loading: "lazy", src: address });
  const element = h("span", {}, image);
  image.addEventListener("error", () =>
    replace(element, h("a", { href: address, download: "" }, label)));
  return element;
}

/// A picture or a link, and its size.
export function sized(record, key, asset, state) {
  return [picture(record, key, asset, state, "Download"), " ",
    h("span", { class: "small muted" }, bytes(asset.size))];
}

/// A picture that is not uploaded yet.
function preview(file) {
  if (!file.type.startsWith("image/")) return null;
  const address = URL.createObjectURL(file);
  const image = h("img", { class: "asset", alt: "", src: address });
  image.addEventListener("load", () => URL.revokeObjectURL(address));
  image.addEventListener("error", () => {
    URL.revokeObjectURL(address);
    image.remove();
  });
  return image;
}

/// The input of a field that holds an asset, or a list of assets.
///
/// `upload` sends the files that were chosen; it returns the field as records/modify takes
/// it, and nothing if the field stays as it is. `isChanged` says whether it is another than before.
export function assetInput(record, key, declared, state) {
  const isList = declared.startsWith("LIST");
  const before = [record.fields[key]?.value ?? []].flat().map((asset) => (
    { asset, name: key, shown: sized(record, key, asset, state) }));
  let files = before;

  const list = h("ul", { "aria-live": "polite" });
  const verb = h("span");
  const input = h("input", { type: "file", name: key, class: "hidden", multiple: isList,
    on: { change: choose } });
  const undo = button("Undo", () => change(before));
  const element = h("fieldset", { class: "files" }, h("legend", {}, `${key}, ${declared}`),
    list, h("div", { class: "row" }, h("label", { class: "button" }, verb,
      h("span", { class: "hidden" }, ` for ${key}`), input), undo));

  function draw() {
    replace(list, files.map((file) => h("li", { class: "row middle" }, file.shown,
      button("Remove", () => change(files.filter((other) => other !== file)),
        "little bad", { "aria-label": `Remove ${file.name}` }))),
    files.length === 0 && h("li", { class: "muted" }, "No file."));
    const isEmpty = files.length === 0;
    replace(verb, isList ? "Add files…" : isEmpty ? "Choose a file…" : "Replace…");
    undo.hidden = files === before;
  }

  function change(next) {
    files = next;
    draw();
    input.focus();
  }

  function choose() {
    const all = [...input.files];
    // The same file may be chosen again.
    input.value = "";
    const chosen = all.filter((file) => {
      const fits = file.size <= mostFileBytes;
      if (!fits) {
        fail(input, `${file.name} has ${bytes(file.size)}; the node takes files of at most `
          + `${bytes(mostFileBytes)}.`);
      }
      return fits;
    }).map((file) => {
      const note = h("span", {}, "not saved yet");
      const size = bytes(file.size);
      return { file, note, name: file.name,
        shown: [preview(file), h("span", {}, `${file.name}, ${size}, `, note)] };
    });
    if (chosen.length > 0) change(isList ? [...files, ...chosen] : chosen);
  }

  async function send() {
    if (files === before) return null;
    if (files.length === 0) return { value: null };
    const names = { ...place(record, key, state), type: record.recordType };
    const kept = await receipts(files.filter(({ asset }) => asset));
    const values = [];
    for (const each of files) {
      // What was uploaded stays so when the record could not be saved.
      if (each.file && !each.value) await sendOne(each, names);
      values.push(each.file ? each.value : kept.get(each));
    }
    return isList ? { type: "ASSETID_LIST", value: values }
      : { type: "ASSETID", value: values[0] };
  }

  async function sendOne(each, names) {
    replace(each.note, "uploading…");
    try {
      each.value = await upload(names, each.file);
    } finally {
      replace(each.note, each.value ? "uploaded, not saved yet" : "not saved yet");
    }
  }

  /// What lets the record keep files that it has.
  async function receipts(kept) {
    if (kept.length === 0) return new Map();
    const { assets } = await web(state.scope, state.database, "assets/rereference", {
      assets: kept.map(({ asset }) => ({ recordName: record.recordName, fieldName: key,
        fileChecksum: asset.fileChecksum })), ...zoneFor(record, state) }, state.as);
    return new Map(kept.map((each, index) => {
      if (assets[index].serverErrorCode) throw new Error(assets[index].reason);
      return [each, assets[index]];
    }));
  }

  draw();
  return { element, input, upload: send, isChanged: () => files !== before };
}
