// Records as answers of web services have them.
//
// Each entry of an answer is read by itself: one that can't be read, or that the service refused,
// does not keep the others from being read.

package import CumulusModel

/// A zone as the service names it.
package struct SourceZone: Hashable, Sendable, Comparable {
    package var name: String
    /// User record name; empty: the user who asks.
    package var owner: String

    package init(name: String, owner: String = "") {
        self.name = name
        self.owner = owner
    }

    package static let standard = SourceZone(name: Names.defaultZone)

    package static func < (one: SourceZone, other: SourceZone) -> Bool {
        (one.owner, one.name) < (other.owner, other.name)
    }

    /// How messages name it.
    package var text: String { owner.isEmpty ? name : "\(name) of \(owner)" }

    init(_ object: SourceObject) throws(SourceProblem) {
        name = try object.needed("zoneName")
        let (named, older) = (try object.string("ownerRecordName"), try object.string("ownerName"))
        owner = named ?? older ?? ""
    }

    package var json: JSON {
        var members = [JSON.Member("zoneName", .string(name))]
        if !owner.isEmpty { members.append(JSON.Member("ownerRecordName", .string(owner))) }
        return .object(members)
    }
}

/// When and by whom something was done.
package struct SourceMoment: Hashable, Sendable {
    /// Milliseconds since 1970 UTC.
    package var time: Int64
    /// User record name; empty if the service does not tell.
    package var user: String

    package init(time: Int64, user: String) {
        self.time = time
        self.user = user
    }

    fileprivate init(_ object: SourceObject) throws(SourceProblem) {
        time = try object.integer("timestamp") ?? 0
        user = try object.string("userRecordName") ?? ""
    }
}

package struct SourceRecord: Hashable, Sendable {
    package var name: String
    package var type: String
    package var changeTag: String
    package var fields: [String: SourceValue]
    package var created: SourceMoment?
    package var modified: SourceMoment?
    /// Record name.
    package var parent: String?
    /// What a record of type `cloudkit.share` shares, and with whom.
    package var share: SourceShare?
    /// The name of the share whose root the record is.
    package var shareName: String?

    package init(
        name: String,
        type: String,
        changeTag: String = "",
        fields: [String: SourceValue] = [:],
        created: SourceMoment? = nil,
        modified: SourceMoment? = nil,
        parent: String? = nil,
        share: SourceShare? = nil,
        shareName: String? = nil
    ) {
        self.name = name
        self.type = type
        self.changeTag = changeTag
        self.fields = fields
        self.created = created
        self.modified = modified
        self.parent = parent
        self.share = share
        self.shareName = shareName
    }

    /// - Parameter zone: The name of the zone that was asked for.
    init(_ object: SourceObject, in zone: String) throws(SourceProblem) {
        let zone = try object.object("zoneID")?.string("zoneName") ?? zone
        name = try object.needed("recordName")
        let type = try object.needed("recordType")
        self.type = type == "cloudKit.share" ? Names.shareType : type
        changeTag = try object.string("recordChangeTag") ?? ""
        fields = [:]
        if let values = try object.object("fields"), case .object(let members) = values.json {
            for member in members {
                let place = values.place(member.key)
                fields[member.key] = try SourceValue(member.value, in: zone, at: place)
            }
        }
        created = try object.object("created").map(SourceMoment.init)
        modified = try object.object("modified").map(SourceMoment.init)
        parent = try object.object("parent")?.needed("recordName")
        share = self.type == Names.shareType ? try SourceShare(object) : nil
        shareName = try object.object("share")?.string("recordName")
    }
}

/// An entry of an answer that is about one record.
package enum SourceEntry: Hashable, Sendable {
    case record(SourceRecord)
    /// A tombstone; it has no type.
    case deleted(String)
    /// The service does not have it, or not for the caller.
    case missing(String)
    /// The service refused it, or it can't be read: its name, as far as it has one, and why.
    case refused(String, SourceRefusal)

    package init(_ json: JSON, in zone: String, at place: String) throws(SourceProblem) {
        let object = try SourceObject(json, at: place)
        if let refusal = try SourceRefusal(object) {
            let name = try object.string("recordName") ?? ""
            self = refusal.code == "NOT_FOUND" ? .missing(name) : .refused(name, refusal)
            return
        }
        if try object.flag("deleted") == true {
            self = .deleted(try object.needed("recordName"))
            return
        }
        do {
            self = .record(try SourceRecord(object, in: zone))
        } catch {
            // Without a name there is nothing to say of it, or to skip.
            let name = try object.needed("recordName")
            self = .refused(name, SourceRefusal(code: "", reason: error.description))
        }
    }

    package var name: String {
        switch self {
        case .record(let record): record.name
        case .deleted(let name), .missing(let name), .refused(let name, _): name
        }
    }

    package var record: SourceRecord? { if case .record(let record) = self { record } else { nil } }

    static func list(_ object: SourceObject, in zone: String) throws(SourceProblem) -> [Self] {
        var entries: [SourceEntry] = []
        for (index, json) in try object.neededList("records").enumerated() {
            let place = "\(object.place("records"))[\(index)]"
            entries.append(try SourceEntry(json, in: zone, at: place))
        }
        return entries
    }
}
