// A record row holds the body, and a head that says when, by whom and by which commits every part
// was written.
//
//   row  = varint length of head · head · body
//   head = version · flags · type · stamps · birth · floor · modified · createdBy · modifiedBy
//          · device · fields · absent · references · parent · share · access · key · twins
//          · counters · frontier · ended · tag (8 bytes) · digest (16 bytes)
//
// The row's stamps are listed once, ascending, in `stamps`; the rest of the head holds indexes into
// the list. Nothing in a row is node-local: nodes that have seen the same commits hold the same
// bytes, except for the frontier and the ended lives. Each node forgets a purged tombstone's
// commits and a life's end in its own time, so neither is part of the digest, and a stamp that only
// they name stands in them. `ended` is absent if it is empty. `ApplyCommit` writes rows. hot: once
// per record that is saved; fetches use `RecordView`, which skips what they don't need.
//
// Folder: how a record is stored. Read `RecordRow`, then `RecordBody`; `FieldCanonicaliser` makes
// bodies from requests.

package import CumulusModel

package struct RecordRow: Hashable, Sendable {
    /// A register that holds a name or nothing.
    package struct NamedTarget: Hashable, Sendable {
        /// nil means removed.
        package var name: String?
        /// Birth of the target, if it existed when the name was set.
        package var birth: Dot?
        package var stamp: Stamp
    }

    /// A field that was set to nil: the stamp outlives the value.
    package struct Absence: Hashable, Sendable {
        package var name: String
        package var stamp: Stamp
    }

    /// The target's birth, if it existed when the reference was saved.
    package struct ReferenceTarget: Hashable, Sendable {
        package var field: String
        /// Index in a list; 0 in a single reference.
        package var element: Int
        package var birth: Dot

        package init(field: String, element: Int, birth: Dot) {
            self.field = field
            self.element = element
            self.birth = birth
        }
    }

    /// The parts are shared by copies of the row until one of them changes.
    private var parts: Parts {
        _read { yield storage.parts }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.parts) }
            yield &storage.parts
        }
    }
    private var storage: Storage

    fileprivate final class Storage: @unchecked Sendable {
        // Only the row that holds the parts exclusively changes them.
        @exclusivity(unchecked) var parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    /// The stored properties behind `RecordRow`, under the same names.
    struct Parts: Hashable, Sendable {
        var isDead = false
        var hasSiblings = false
        var type: String
        var birth: Stamp
        var key: LifeKey?
        var twins: [Stamp] = []
        var ended: [EndedLife] = []
        var floor: Stamp
        var modified: Stamp
        var createdBy: String
        var modifiedBy: String
        var device: Bytes = []
        var frontier: [Stamp] = []
        var fieldStamps: [Stamp] = []
        var absent: [Absence] = []
        var targets: [ReferenceTarget] = []
        var parent: NamedTarget?
        var share: NamedTarget?
        var access = AccessEntries()
        var counters: [Counter] = []
        var body = RecordBody()
        var tag: Bytes = []
        var digest: Bytes = []
    }

    init(_ parts: Parts) { storage = Storage(parts) }

    package static func == (left: RecordRow, right: RecordRow) -> Bool {
        left.storage === right.storage || left.parts == right.parts
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(parts) }

    /// A life that begins with this commit and holds nothing yet.
    package init(type: String, birth: Stamp, createdBy: String, key: LifeKey? = nil) {
        self.init(
            Parts(
                type: type,
                birth: birth,
                key: key,
                floor: birth,
                modified: birth,
                createdBy: createdBy,
                modifiedBy: createdBy
            )
        )
    }

    package static let version: UInt64 = 1
}

// MARK: - Parts

extension RecordRow {
    /// Whether no life is visible: the row is a tombstone with an empty body.
    package var isDead: Bool {
        _read { yield parts.isDead }
        _modify { yield &parts.isDead }
    }

    /// Whether the record has hidden lives, which have rows of their own.
    package var hasSiblings: Bool {
        _read { yield parts.hasSiblings }
        _modify { yield &parts.hasSiblings }
    }

    package var type: String {
        _read { yield parts.type }
        _modify { yield &parts.type }
    }

    /// The creation of the life; the earliest if there are several.
    package var birth: Stamp {
        _read { yield parts.birth }
        _modify { yield &parts.birth }
    }

    /// The key that further creations of the same life share; nil if there can't be any.
    package var key: LifeKey? {
        _read { yield parts.key }
        _modify { yield &parts.key }
    }

    /// Further creations of the same life, ascending.
    package var twins: [Stamp] {
        _read { yield parts.twins }
        _modify { yield &parts.twins }
    }

    /// Ended lives of the record that had keys, kept with the shown life or the tombstone,
    /// ascending.
    package var ended: [EndedLife] {
        _read { yield parts.ended }
        _modify { yield &parts.ended }
    }

    /// Fields with stamps below it are gone.
    package var floor: Stamp {
        _read { yield parts.floor }
        _modify { yield &parts.floor }
    }

    package var modified: Stamp {
        _read { yield parts.modified }
        _modify { yield &parts.modified }
    }

    package var createdBy: String {
        _read { yield parts.createdBy }
        _modify { yield &parts.createdBy }
    }

    package var modifiedBy: String {
        _read { yield parts.modifiedBy }
        _modify { yield &parts.modifiedBy }
    }

    package var device: Bytes {
        _read { yield parts.device }
        _modify { yield &parts.device }
    }

    /// The causally latest commits that name this record: its rows in the change index.
    package var frontier: [Stamp] {
        _read { yield parts.frontier }
        _modify { yield &parts.frontier }
    }

    /// One stamp per entry of the body.
    package var fieldStamps: [Stamp] {
        _read { yield parts.fieldStamps }
        _modify { yield &parts.fieldStamps }
    }

    /// Absences sorted by name.
    package var absent: [Absence] {
        _read { yield parts.absent }
        _modify { yield &parts.absent }
    }

    /// Targets sorted by field and element.
    package var targets: [ReferenceTarget] {
        _read { yield parts.targets }
        _modify { yield &parts.targets }
    }

    package var parent: NamedTarget? {
        _read { yield parts.parent }
        _modify { yield &parts.parent }
    }

    package var share: NamedTarget? {
        _read { yield parts.share }
        _modify { yield &parts.share }
    }

    /// Who may do what in a share; empty unless the record is a share.
    package var access: AccessEntries {
        _read { yield parts.access }
        _modify { yield &parts.access }
    }

    /// Counters sorted by name.
    package var counters: [Counter] {
        _read { yield parts.counters }
        _modify { yield &parts.counters }
    }

    package var body: RecordBody {
        _read { yield parts.body }
        _modify { yield &parts.body }
    }

    package var tag: Bytes {
        _read { yield parts.tag }
        _modify { yield &parts.tag }
    }

    package var digest: Bytes {
        _read { yield parts.digest }
        _modify { yield &parts.digest }
    }
}
