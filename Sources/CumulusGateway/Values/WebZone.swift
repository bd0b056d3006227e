// Zone ids and zones as web services write them.
//
// An owner may be left out, be the caller's own user record name, or stand for the caller; the
// three mean one zone. Answers name the caller, as clients expect.

package import CumulusModel

package enum WebZone {
    /// The zone that an id of a request means: however it is written, the same id.
    ///
    /// - Parameter user: The caller's user record name; empty: no user is signed in.
    package static func id(
        _ object: WebObject,
        for user: String
    ) throws(WebError) -> RecordZone.ID {
        let name = try object.needed("zoneName")
        let owner = try object.string("ownerRecordName").map { canonical($0, user) }
        let older = try object.string("ownerName").map { canonical($0, user) }
        if let owner, let older, owner != older {
            throw .badRequest("'\(object.path)' names two owners; leave 'ownerName' out")
        }
        return RecordZone.ID(
            zoneName: name,
            ownerName: owner ?? older ?? RecordZone.ID.currentUserName
        )
    }

    /// The zone that a request names under `zoneID`; nil if it names none.
    package static func id(
        in request: WebObject,
        for user: String
    ) throws(WebError) -> RecordZone.ID? {
        guard let object = try request.object("zoneID") else { return nil }
        return try id(object, for: user)
    }

    private static func canonical(_ owner: String, _ user: String) -> String {
        // Apple's public database uses this name for the owner of its only zone.
        let isCaller = owner.isEmpty || owner == "_defaultOwner" || owner == user
        return isCaller ? RecordZone.ID.currentUserName : owner
    }

    /// An owner's name with the caller's own in place of what stands for it.
    static func owner(_ name: String, _ user: String) -> String {
        name == Names.currentUser || name.isEmpty ? user : name
    }

    package static func json(_ id: RecordZone.ID, user: String) -> JSON {
        JSON { write(id, user: user, to: &$0) }
    }

    static func write(_ id: RecordZone.ID, user: String, to json: inout JSONWriter) {
        let isDefault = id.zoneName == Names.defaultZone
        let owner = owner(id.ownerName, user)
        json.object { json in
            json.member("zoneName", .string(id.zoneName))
            if !owner.isEmpty { json.member("ownerRecordName", .string(owner)) }
            json.member("zoneType", isDefault ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE")
        }
    }

    package static func json(_ zone: RecordZone, user: String) -> JSON {
        [
            "zoneID": json(zone.zoneID, user: user),
            "atomic": .bool(zone.capabilities.contains(.atomic)),
        ]
    }

    /// One entry of a list of results for a zone that failed.
    package static func entry(
        _ error: WebError,
        _ id: RecordZone.ID,
        user: String,
        uuid: String
    ) -> JSON {
        error.entry(JSON.Member("zoneID", json(id, user: user)), uuid: uuid)
    }
}
