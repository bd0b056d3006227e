// The participants of a share and what each may do: a sorted map in the head of the share's row.
//
// Each entry begins with numbers that only grow, big-endian; an entry that allows less has the
// greater bytes. Two nodes' maps are joined by taking the greater bytes of each entry: at equal
// numbers taking away beats giving, and no clock decides. The operation `access` of a commit writes
// them, see `ApplyCommit+Access`; `AccessEntries+Participants` reads them, `AccessEntries+Changes`
// makes them.
//
// | key                        | value                                                        |
// | -------------------------- | ------------------------------------------------------------ |
// | 0                          | what is shared: a record's name and birth; empty: the zone   |
// | 1, participant, 0          | invitation, version, role, name as it was given, when added, |
// |                            | public era                                                   |
// | 1, participant, 1          | invitation, version, permission                              |
// | 1, participant, 2          | highest invitation that was taken away                       |
// | 1, participant, 3          | highest invitation that was given back                       |
// | 1, participant, 4          | invitation that was accepted, by which user                  |
// | 1, participant, 5          | highest public era in which something was taken away         |
// | 2                          | public era, version, permission                              |
// | 3                          | highest public era that was closed                           |
//
// Folder: how shares are stored. Read `AccessEntries`, then its extensions, `ApplyCommit+Access`,
// `StoredShare`, `ShareRows` and `ScopeShares`; `HangRows` and `FormerParents` hold the former
// parents of records.

import Crypto
package import CumulusModel

package struct AccessEntries: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package let key: Bytes
        package let value: Bytes

        package init(key: Bytes, value: Bytes) {
            self.key = key
            self.value = value
        }
    }

    /// The identity of a participant: two invitations of the same person have the same id.
    package struct ParticipantID: Hashable, Sendable {
        /// Numbers as in `sharing.proto`.
        package enum Kind: UInt8, CaseIterable, Sendable {
            case user = 1
            case email = 2
            case phone = 3
        }

        package let kind: Kind
        /// The first 16 bytes of SHA-256 over the user record name, or over the handle in its one
        /// spelling.
        package let bytes: Bytes

        package init(kind: Kind, bytes: Bytes) {
            self.kind = kind
            self.bytes = bytes
        }

        package init(user: String) {
            self.init(kind: .user, bytes: ParticipantID.digest(user))
        }

        package init(_ handle: Handle) {
            self.init(
                kind: handle.kind == .email ? .email : .phone,
                bytes: ParticipantID.digest(handle.text)
            )
        }

        private static func digest(_ text: String) -> Bytes {
            SHA256.hash(data: Bytes(text.utf8)).first(16)
        }
    }

    enum Field: UInt8, CaseIterable {
        case role = 0
        case permission = 1
        case removed = 2
        case left = 3
        case accepted = 4
        case removedEra = 5
    }

    /// Ascending by key, each once.
    package private(set) var entries: [Entry] = []
    /// Rules that a simulation has switched off in the reader; empty in a node.
    package var broken: BrokenRules = []

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    /// The value of a key.
    subscript(_ key: Bytes) -> Bytes? {
        let index = index(of: key)
        return index < entries.count && entries[index].key == key ? entries[index].value : nil
    }

    /// The index of the first entry with this key or a later one.
    func index(of key: Bytes) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = low + (high - low) / 2
            if entries[middle].key.lexicographicallyPrecedes(key) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// Joins entries in any order: for each key the greater bytes win.
    package mutating func join(_ others: [Entry]) {
        if others.isEmpty { return }
        var joined: [Entry] = []
        joined.reserveCapacity(entries.count + others.count)
        // Sorted entries are merged in linear time.
        for entry in (entries + others).sorted(by: AccessEntries.precedes) {
            if joined.last?.key == entry.key { joined.removeLast() }
            joined.append(entry)
        }
        entries = joined
    }

    private static func precedes(_ one: Entry, _ other: Entry) -> Bool {
        one.key == other.key
            ? one.value.lexicographicallyPrecedes(other.value)
            : one.key.lexicographicallyPrecedes(other.key)
    }

    package mutating func join(_ other: AccessEntries) { join(other.entries) }

    // MARK: Keys

    static let rootKey: Bytes = [0]
    static let publicKey: Bytes = [2]
    static let closedKey: Bytes = [3]

    static func key(_ participant: ParticipantID, _ field: Field) -> Bytes {
        [1, participant.kind.rawValue] + participant.bytes + [field.rawValue]
    }

    static func participant(of key: Bytes) -> (id: ParticipantID, field: Field)? {
        guard key.count == 19, key[0] == 1, let kind = ParticipantID.Kind(rawValue: key[1]),
            let field = Field(rawValue: key[18])
        else { return nil }
        return (ParticipantID(kind: kind, bytes: Bytes(key[2..<18])), field)
    }

    // MARK: Coding

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(entries.count))
        for entry in entries {
            writer.delimited(entry.key)
            writer.delimited(entry.value)
        }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        let read = try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
            Entry(key: try reader.delimitedBytes(), value: try reader.delimitedBytes())
        }
        try self.init(ascending: read)
    }

    /// - Parameter entries: Entries that this release would not have written are refused.
    package init(ascending entries: [Entry]) throws(MalformedBytes) {
        for (index, entry) in entries.enumerated() {
            guard index == 0 || entries[index - 1].key.lexicographicallyPrecedes(entry.key) else {
                throw MalformedBytes("access entries are not in order")
            }
            try AccessEntries.check(entry)
        }
        self.entries = entries
    }

    private static func check(_ entry: Entry) throws(MalformedBytes) {
        switch entry.key {
        case rootKey: _ = try Root(value: entry.value)
        case publicKey: _ = try PublicGrant(value: entry.value)
        case closedKey: _ = try Numbers(entry.value, count: 1)
        default:
            guard let (_, field) = participant(of: entry.key) else {
                throw MalformedBytes("an access entry with an unknown key")
            }
            switch field {
            case .role: _ = try RoleGrant(value: entry.value)
            case .permission: _ = try PermissionGrant(value: entry.value)
            case .removed, .removedEra, .left: _ = try Numbers(entry.value, count: 1)
            case .accepted: _ = try Acceptance(value: entry.value)
            }
        }
    }
}

// MARK: - Values

extension AccessEntries {
    /// The root of a share: what is shared.
    package enum Root: Hashable, Sendable {
        case zone
        /// A life of a record, and all records below it.
        case record(name: String, birth: Dot)

        /// Whether the row, with that record name, is the root.
        package func isLife(_ row: RecordRow, named root: String) -> Bool {
            guard case .record(root, let birth) = self else { return false }
            return row.isBorn(at: birth)
        }

        var value: Bytes {
            guard case .record(let name, let birth) = self else { return [] }
            var writer = CanonicalWriter()
            writer.delimited(name.utf8)
            writer.dot(birth)
            return writer.bytes
        }

        init(value: Bytes) throws(MalformedBytes) {
            guard !value.isEmpty else {
                self = .zone
                return
            }
            var reader = CanonicalReader(value)
            self = .record(name: try reader.text(), birth: try reader.dot())
            guard reader.isAtEnd else { throw MalformedBytes("a root that is too long") }
        }
    }

    /// Numbers of four bytes, big-endian.
    struct Numbers: Hashable {
        let numbers: [UInt32]

        init(_ numbers: UInt32...) { self.numbers = numbers }

        init(_ value: Bytes, count: Int) throws(MalformedBytes) {
            guard value.count == 4 * count else {
                throw MalformedBytes("an access entry of a wrong length")
            }
            numbers = (0..<count).map { index in
                value[4 * index..<4 * index + 4].reduce(0) { $0 << 8 | UInt32($1) }
            }
        }

        var value: Bytes {
            numbers.flatMap { number in withUnsafeBytes(of: number.bigEndian) { Bytes($0) } }
        }
    }

    struct RoleGrant: Hashable {
        var invitation: UInt32
        var version: UInt32
        var role: ShareParticipant.Role
        /// A user record name or a handle, as the inviter gave it.
        var name: String
        /// Milliseconds since 1970 UTC.
        var added: Int64
        /// The era in which a public user joined; 0 for invited users.
        var era: UInt32

        init(
            invitation: UInt32,
            version: UInt32,
            role: ShareParticipant.Role,
            name: String,
            added: Int64,
            era: UInt32
        ) {
            (self.invitation, self.version, self.role) = (invitation, version, role)
            (self.name, self.added, self.era) = (name, added, era)
        }

        var value: Bytes {
            var writer = CanonicalWriter()
            writer.raw(Numbers(invitation, version).value)
            writer.raw([255 - role.rawValue])
            writer.delimited(name.utf8)
            writer.varint(UInt64(bitPattern: added))
            writer.varint(UInt64(era))
            return writer.bytes
        }

        init(value: Bytes) throws(MalformedBytes) {
            guard value.count > 9, let role = ShareParticipant.Role(rawValue: 255 - value[8]),
                role != .owner
            else { throw MalformedBytes("an access entry without a role") }
            let numbers = try Numbers(Bytes(value[..<8]), count: 2).numbers
            (invitation, version, self.role) = (numbers[0], numbers[1], role)
            var reader = CanonicalReader(value, 9..<value.count)
            name = try reader.text()
            added = Int64(bitPattern: try reader.varint())
            era = UInt32(truncatingIfNeeded: try reader.count(limit: Int(UInt32.max)))
            guard reader.isAtEnd else { throw MalformedBytes("a role that is too long") }
        }
    }

    struct PermissionGrant: Hashable {
        var invitation: UInt32
        var version: UInt32
        var permission: ShareParticipant.Permission

        init(
            invitation: UInt32,
            version: UInt32,
            permission: ShareParticipant.Permission
        ) {
            (self.invitation, self.version) = (invitation, version)
            self.permission = permission
        }

        var value: Bytes { Numbers(invitation, version).value + [255 - permission.rawValue] }

        init(value: Bytes) throws(MalformedBytes) {
            guard value.count == 9,
                let permission = ShareParticipant.Permission(rawValue: 255 - value[8])
            else { throw MalformedBytes("an access entry without a permission") }
            let numbers = try Numbers(Bytes(value[..<8]), count: 2).numbers
            (invitation, version, self.permission) = (numbers[0], numbers[1], permission)
        }
    }

    /// What all who have the URL may do; opening the share begins an era.
    struct PublicGrant: Hashable {
        var era: UInt32
        var version: UInt32
        var permission: ShareParticipant.Permission

        init(era: UInt32, version: UInt32, permission: ShareParticipant.Permission) {
            (self.era, self.version, self.permission) = (era, version, permission)
        }

        var value: Bytes { Numbers(era, version).value + [255 - permission.rawValue] }

        init(value: Bytes) throws(MalformedBytes) {
            let grant = try PermissionGrant(value: value)
            (era, version, permission) = (grant.invitation, grant.version, grant.permission)
        }
    }

    struct Acceptance: Hashable {
        var invitation: UInt32
        /// User record name.
        var user: String

        init(invitation: UInt32, user: String) {
            (self.invitation, self.user) = (invitation, user)
        }

        var value: Bytes { Numbers(invitation).value + Bytes(user.utf8) }

        init(value: Bytes) throws(MalformedBytes) {
            guard value.count > 4, let user = String(utf8: value[4...]) else {
                throw MalformedBytes("an acceptance without a user")
            }
            invitation = try Numbers(Bytes(value[..<4]), count: 1).numbers[0]
            self.user = user
        }
    }
}
