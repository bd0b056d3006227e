// Whether a request to change records says the same when it is encoded again, with its fields in
// canonical form, as the node stores them.
//
// For requests that a node accepted under attack: what it understood must be all that there was.

import CumulusModel
import CumulusRequests
import CumulusStorage
import CumulusWire

enum RequestStability {
    static func isKept(_ message: Bytes) throws -> Bool {
        let request = try NodeModifyRecordsRequest(wire: message)
        let again = try NodeModifyRecordsRequest(wire: encoded(request))
        guard again.database == request.database, again.policy == request.policy,
            again.isAtomic == request.isAtomic, again.deletes == request.deletes,
            again.saves.count == request.saves.count
        else { return false }
        return try zip(request.saves, again.saves).allSatisfy(isSame)
    }

    private static func isSame(
        _ save: NodeModifyRecordsRequest.Save,
        _ again: NodeModifyRecordsRequest.Save
    ) throws -> Bool {
        var bare = save
        bare.record.fields = again.record.fields
        return try bare == again && body(save) == body(again)
    }

    private static func encoded(_ request: NodeModifyRecordsRequest) throws -> Bytes {
        var canonical = request
        for (index, save) in request.saves.enumerated() {
            canonical.saves[index].record.fields = try fields(of: try body(save))
        }
        return canonical.encoded()
    }

    private static func fields(of body: RecordBody) throws -> [Bytes] {
        var reader = CanonicalReader(body.bytes)
        var fields: [Bytes] = []
        while try reader.nextField() != nil { fields.append(try reader.delimitedBytes()) }
        return fields
    }

    /// The fields in canonical form; if the node refuses one, none of the item is stored.
    private static func body(_ save: NodeModifyRecordsRequest.Save) throws -> RecordBody {
        var canonicaliser = FieldCanonicaliser(zoneName: zoneName(save), zoneOwners: owners(save))
        do throws(ServiceError) {
            for field in save.record.fields { try canonicaliser.add(field) }
            return try canonicaliser.finish()
        } catch {
            return RecordBody()
        }
    }

    private static func zoneName(_ save: NodeModifyRecordsRequest.Save) -> String {
        save.id.zone.map { String(decoding: $0.name, as: UTF8.self) } ?? Names.defaultZone
    }

    private static func owners(_ save: NodeModifyRecordsRequest.Save) -> [String] {
        let owner = save.id.zone.map { String(decoding: $0.owner, as: UTF8.self) }
        return [Names.currentUser] + [owner].compactMap(\.self)
    }
}
