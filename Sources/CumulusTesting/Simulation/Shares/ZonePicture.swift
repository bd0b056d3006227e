// The content of a zone on one node, read row by row, and who may read what by it: a second opinion
// beside the production code that decides it.
//
// Made by `ShareSimulation` before and after each request, and where a device is answered. It walks
// over all records in plain loops and takes the numbers of access entries out of their bytes.

import CumulusModel
import CumulusStorage

struct ZonePicture {
    struct Record: Equatable {
        /// Birth of the shown life.
        let birth: Dot
        /// Births of all living lives.
        let births: [Dot]
        /// Dots that stand for the shown life.
        let dots: Set<Dot>
        let parent: String?
        /// Name of the share that the record names as its own.
        let share: String?
        let isShare: Bool
        let tag: Bytes
    }

    enum Root: Hashable {
        case zone
        case record(String, Dot)
    }

    struct Share: Equatable {
        let name: String
        let tag: Bytes
        /// Births of its living lives.
        var lives: Set<Dot> = []
        /// The greatest value of each key in a living life.
        var entries: [Bytes: Bytes] = [:]
        /// Roots of its living lives, as they stand in the entries; the greatest first.
        fileprivate var roots: [Bytes] = []
        /// The root whose life is shown, if it names the share.
        var root: Root?
        /// Members by the 17 bytes that stand for them.
        var members: [Bytes: Member] = [:]
        /// The era in which the share was opened last to everybody who has its URL, the number of
        /// changes in it, and what the last one allows.
        fileprivate(set) var publicEra: UInt32 = 0
        fileprivate(set) var publicVersion: UInt32 = 0
        fileprivate(set) var publicPermission: UInt8 = 0
        fileprivate(set) var closedEra: UInt32 = 0

        /// What all who have the URL may do.
        var openPermission: UInt8 { publicEra > closedEra ? publicPermission : 0 }

        /// Whether a member is in: a public user only in the era in which it joined, unless it was
        /// removed in that.
        func isIn(_ member: Member) -> Bool {
            guard member.hasAccepted, member.isPublic else { return member.hasAccepted }
            return openPermission > 0 && member.era == publicEra && member.removedEra != publicEra
        }

        /// Whether a member is shown: users of former public eras are not.
        func isListed(_ member: Member) -> Bool {
            member.isPublic ? isIn(member) : member.isInvited
        }

        /// What a user may do; 0 if the user is not in.
        func permission(of user: String) -> UInt8 {
            members.values.filter { $0.user == user && isIn($0) }.map { member in
                member.isPublic ? openPermission : member.permission
            }.max() ?? 0
        }
    }

    /// The numbers of a participant.
    struct Member: Equatable {
        var name = ""
        var role: UInt8 = 0
        var roleVersion: UInt32 = 0
        /// The public era in which it joined by the URL.
        var era: UInt32 = 0
        var invitation: UInt32 = 0
        var version: UInt32 = 0
        var permission: UInt8 = 0
        var removed: UInt32 = 0
        /// The public era in which it was removed last.
        var removedEra: UInt32 = 0
        var left: UInt32 = 0
        var accepted: UInt32 = 0
        /// The user who accepted.
        var user: String?

        var isInvited: Bool { invitation > removed && invitation > left }
        var hasAccepted: Bool { isInvited && accepted == invitation }
        /// Joined by the URL.
        var isPublic: Bool { invitation > 0 && role == 0 }
    }

    let zone: Commit.Zone
    /// The node's own.
    let number: ZoneNumber
    /// The shown records, by name.
    private(set) var records: [String: Record] = [:]
    private(set) var shares: [String: Share] = [:]

    /// nil if there is no such zone.
    init?(of name: String, ownedBy owner: String, in store: TestStore) throws {
        let (reader, scope) = (store.reader, try store.scopeNumber())
        let id = DatabaseID(kind: .private, owner: owner)
        guard let database = try reader.database(scope, id),
            let zone = try reader.zone(database, name), zone.exists
        else { return nil }
        self.zone = Commit.Zone(database: id, name: name, generation: zone.generation)
        number = zone.number
        for name in try reader.recordNames(in: zone.number, after: nil, limit: .max) {
            guard let shown = try reader.record(zone.number, name), !shown.isDead else { continue }
            var lives = [shown]
            if shown.hasSiblings {
                lives += try reader.rows(.records, .siblings(of: zone.number, name)).map {
                    try RecordRow($0.value)
                }
            }
            try add(lives, named: name)
        }
        for name in shares.keys { try chooseRoot(of: name) }
    }

    /// Two nodes that do one request give root and share a life each.
    private mutating func chooseRoot(of name: String) throws {
        guard var share = shares[name] else { return }
        let roots = try share.roots.map(Root.init)
        for root in roots where share.root == nil {
            share.root = root
            if !isInForce(share) { share.root = nil }
        }
        share.root = share.root ?? roots.first
        shares[name] = share
    }

    private mutating func add(_ lives: [RecordRow], named name: String) throws {
        let shown = lives[0]
        let isShare = shown.type == Names.shareType
        records[name] = Record(
            birth: shown.identity,
            births: lives.flatMap(\.births),
            dots: Set(shown.births + [shown.identity]),
            parent: shown.parent?.name,
            share: shown.share?.name,
            isShare: isShare,
            tag: shown.tag
        )
        guard isShare else { return }
        var share = Share(name: name, tag: shown.tag)
        for life in lives {
            share.lives.formUnion(life.births)
            for entry in life.access.entries {
                let known = share.entries[entry.key] ?? []
                if known.lexicographicallyPrecedes(entry.value) {
                    share.entries[entry.key] = entry.value
                }
                // The value of a zone's root is empty.
                if share.entries[entry.key] == nil { share.entries[entry.key] = entry.value }
                if entry.key == [0], !share.roots.contains(entry.value) {
                    share.roots.append(entry.value)
                }
            }
        }
        share.roots.sort { $1.lexicographicallyPrecedes($0) }
        try share.readEntries()
        shares[name] = share
    }

    // MARK: Who may read what

    /// Whether a share is of the zone, or of the life of its root that is shown and that names it.
    func isInForce(_ share: Share) -> Bool {
        switch share.root {
        case nil: false
        case .zone: share.name == Names.zoneShare
        case .record(let name, let birth):
            records[name]?.dots.contains(birth) == true && records[name]?.share == share.name
        }
    }

    /// The names of the shares in force of the zone, or of its records.
    func names(ofZoneShares isOfZone: Bool) -> Set<String> {
        Set(shares.values.filter { isInForce($0) && ($0.root == .zone) == isOfZone }.map(\.name))
    }

    /// The names of all that somebody may read who is in some of the shares.
    func readable(_ counts: (Share) -> Bool) -> Set<String> {
        var (found, roots): (Set<String>, Set<String>) = ([], [])
        for share in shares.values where isInForce(share) && counts(share) {
            switch share.root {
            case .zone: return Set(records.keys)
            case .record(let name, _):
                roots.insert(name)
                found.insert(share.name)
            case nil: break
            }
        }
        for (name, record) in records where !record.isShare && leads(from: name, to: roots) {
            found.insert(name)
        }
        return found
    }

    /// The records that a user may read, by the numbers in the rows.
    ///
    /// - Parameter least: The permission that the user needs; 2: to write.
    func readable(by user: String, atLeast least: UInt8 = 1) -> Set<String> {
        readable { $0.permission(of: user) >= least }
    }

    private func leads(from name: String, to roots: Set<String>) -> Bool {
        var seen: Set<String> = []
        var next: String? = name
        while let name = next, seen.insert(name).inserted, let record = records[name] {
            if roots.contains(name) { return true }
            next = record.parent
        }
        return false
    }

    /// All that hangs below some records, and these: the same chains, walked down.
    func below(_ roots: Set<String>) -> Set<String> {
        var found = roots.filter { records[$0] != nil }
        var count = -1
        while count != found.count {
            count = found.count
            for (name, record) in records {
                if let parent = record.parent, found.contains(parent) { found.insert(name) }
            }
        }
        return found
    }

    // MARK: Text

    /// A text for people: each record with its birth and its parent, each share with its
    /// participants.
    var text: String {
        let records = records.filter { !$0.value.isShare }.sorted { $0.key < $1.key }
        let hung = records.map { name, record in
            let share = record.share.map { ", shared as \($0)" } ?? ""
            return "\(name) below \(record.parent ?? "nothing")\(share), born \(record.birth)"
        }
        let shares = shares.values.sorted { $0.name < $1.name }.map { share in
            let members = share.members.values.sorted { $0.name < $1.name }.map(\.text)
            let force = isInForce(share) ? "in force" : "not in force"
            let open = "public permission \(share.openPermission) in era \(share.publicEra)"
            return "\(share.name) \(force), of \(share.rootText), \(open): \(members)"
        }
        return "[\(hung.joined(separator: "; "))] shares \(shares)"
    }
}

extension ZonePicture.Root {
    fileprivate init(_ value: Bytes) throws {
        var reader = CanonicalReader(value)
        self = value.isEmpty ? .zone : .record(try reader.text(), try reader.dot())
    }
}

extension ZonePicture.Share {
    var rootText: String {
        switch root {
        case nil: "nothing"
        case .zone: "the zone"
        case .record(let name, let birth): "\(name) \(birth)"
        }
    }

    /// Takes the entries apart: see the table in `AccessEntries`.
    fileprivate mutating func readEntries() throws {
        for (key, value) in entries {
            switch key {
            case [2]:
                (publicEra, publicVersion) = (
                    ZonePicture.number(value, 0), ZonePicture.number(value, 4)
                )
                publicPermission = 255 - value[8]
            case [3]: closedEra = ZonePicture.number(value, 0)
            default: break
            }
            guard key.count == 19, key[0] == 1 else { continue }
            try members[Bytes(key[1..<18]), default: ZonePicture.Member()].take(key[18], value)
        }
    }
}

extension ZonePicture.Member {
    fileprivate var text: String {
        """
        \(user ?? name) invitation \(invitation), removed \(removed), left \(left), accepted \
        \(accepted), permission \(permission) version \(version), role \(role), era \(era)
        """
    }

    fileprivate mutating func take(_ field: UInt8, _ value: Bytes) throws {
        let first = ZonePicture.number(value, 0)
        switch field {
        case 0:
            (invitation, role) = (first, 255 - value[8])
            roleVersion = ZonePicture.number(value, 4)
            var reader = CanonicalReader(value, 9..<value.count)
            name = try reader.text()
            _ = try reader.varint()
            era = UInt32(truncatingIfNeeded: try reader.varint())
        case 1: (version, permission) = (ZonePicture.number(value, 4), 255 - value[8])
        case 2: removed = first
        case 3: left = first
        case 4: (accepted, user) = (first, String(decoding: value[4...], as: UTF8.self))
        case 5: removedEra = first
        default: break
        }
    }
}

extension ZonePicture {
    fileprivate static func number(_ value: Bytes, _ offset: Int) -> UInt32 {
        value[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
