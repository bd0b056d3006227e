// The answers of web services, one type for each that a migration asks for.
//
// Pure: from JSON to values. `SourceClient` gets them.

package import CumulusModel

/// A refusal of a request, or of one entry.
package struct SourceRefusal: Hashable, Sendable {
    /// The `serverErrorCode`; empty if the entry can't be read.
    package var code: String
    package var reason: String
    /// Seconds; nil: the service does not say that another try helps.
    package var retryAfter: Double?

    package init(code: String, reason: String, retryAfter: Double? = nil) {
        self.code = code
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// nil if the object is no refusal.
    init?(_ object: SourceObject) throws(SourceProblem) {
        guard let code = try object.string("serverErrorCode") else { return nil }
        self.code = code
        reason = try object.string("reason") ?? ""
        retryAfter = try object.number("retryAfter")
    }

    /// The refusal that a body of an answer holds; nil if it holds none, or is no JSON.
    package init?(body: some Sequence<UInt8>) {
        guard let json = try? JSONReader.read(body, numbers: .nearest),
            let object = try? SourceObject(json, at: "")
        else { return nil }
        guard let refusal = try? SourceRefusal(object) else { return nil }
        self = refusal
    }

    package var text: String { code.isEmpty ? reason : "\(code): \(reason)" }

    /// A change token that is of no use any more, or a marker: the list begins anew.
    package var isOfToken: Bool { code == "BAD_REQUEST" }
}

/// A page of a query.
package struct SourceQueryPage: Sendable {
    package var entries: [SourceEntry]
    /// nil on the last page.
    package var marker: String?

    package init(_ json: JSON, in zone: String) throws(SourceProblem) {
        let object = try SourceObject(json, at: "")
        entries = try SourceEntry.list(object, in: zone)
        marker = try object.string("continuationMarker").flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The records of a lookup, in the order of the names.
package struct SourceLookup: Sendable {
    package var entries: [SourceEntry]

    package init(_ json: JSON, count: Int, in zone: String) throws(SourceProblem) {
        let object = try SourceObject(json, at: "")
        entries = try SourceEntry.list(object, in: zone)
        guard entries.count == count else {
            throw SourceProblem("records", "must have \(count) entries, not \(entries.count)")
        }
    }
}

/// A page of a zone's changes.
package struct SourceZoneChanges: Sendable {
    package var entries: [SourceEntry]
    package var token: String
    package var moreComing: Bool

    /// The one zone of an answer, or why the service refused it.
    package static func read(
        _ json: JSON,
        in zone: String
    ) throws(SourceProblem) -> Result<SourceZoneChanges, SourceRefusalError> {
        let answer = try SourceObject(json, at: "")
        let zones = try answer.neededList("zones")
        guard zones.count == 1 else { throw SourceProblem("zones", "must have one entry") }
        let object = try SourceObject(zones[0], at: "zones[0]")
        if let refusal = try SourceRefusal(object) { return .failure(SourceRefusalError(refusal)) }
        return .success(
            SourceZoneChanges(
                entries: try SourceEntry.list(object, in: zone),
                token: try object.needed("syncToken"),
                moreComing: try object.flag("moreComing") ?? false
            )
        )
    }
}

/// A refusal as an error.
package struct SourceRefusalError: Error, Equatable {
    package var refusal: SourceRefusal

    package init(_ refusal: SourceRefusal) { self.refusal = refusal }
}

/// A page of a database's changes: zones that changed, and zones that are gone.
package struct SourceDatabaseChanges: Sendable {
    package var changed: [SourceZone] = []
    package var deleted: [SourceZone] = []
    package var token: String
    package var moreComing: Bool

    package init(_ json: JSON) throws(SourceProblem) {
        let object = try SourceObject(json, at: "")
        token = try object.needed("syncToken")
        moreComing = try object.flag("moreComing") ?? false
        for (index, json) in try object.neededList("zones").enumerated() {
            let entry = try SourceObject(json, at: "zones[\(index)]")
            guard let id = try entry.object("zoneID") else {
                throw SourceProblem(entry.place("zoneID"), "is missing")
            }
            let zone = try SourceZone(id)
            if try entry.flag("deleted") == true {
                deleted.append(zone)
            } else if zone.name != Names.defaultZone {
                changed.append(zone)
            }
        }
    }
}

/// The user who asks.
package struct SourceCaller: Sendable {
    package var recordName: String

    package init(_ json: JSON) throws(SourceProblem) {
        let object = try SourceObject(json, at: "")
        if let name = try object.string("userRecordName") {
            recordName = name
            return
        }
        // As the printed reference has it.
        guard let first = try object.list("users").first else {
            throw SourceProblem("userRecordName", "is missing")
        }
        recordName = try SourceObject(first, at: "users[0]").needed("userRecordName")
    }
}
