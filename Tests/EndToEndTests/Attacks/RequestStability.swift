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
        bare.fields = again.fields
        return try bare == again && body(save) == body(again)
    }

    private static func encoded(_ request: NodeModifyRecordsRequest) throws -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(request.database))
        writer.field(2, varint: UInt64(request.policy))
        writer.field(3, varint: request.isAtomic ? 0 : 1)
        for save in request.saves {
            let body = try body(save)
            writer.message(4) { writer in
                writer.message(1) { record in
                    save.id.encode(1, to: &record)
                    record.field(2, bytes: save.type)
                    record.field(3, bytes: save.changeTag)
                    if let parent = save.parent {
                        record.message(8) { $0.field(1, bytes: parent) }
                    }
                    record.raw(body.bytes)
                    if let share = save.share { record.message(11) { encode(share, to: &$0) } }
                }
                for increment in save.increments {
                    writer.message(2) { writer in
                        writer.field(1, bytes: increment.field)
                        writer.field(2, signed: increment.delta)
                    }
                }
            }
        }
        for id in request.deletes { id.encode(5, to: &writer) }
        return writer.bytes
    }

    private static func encode(_ share: WireShareParts, to writer: inout CanonicalWriter) {
        writer.field(1, bytes: share.root)
        writer.field(2, varint: UInt64(share.publicPermission))
        for participant in share.participants {
            writer.message(3) { writer in
                writer.field(1, bytes: participant.id)
                writer.field(2, bytes: participant.user)
                if let handle = participant.handle {
                    writer.message(3) { writer in
                        writer.field(1, varint: UInt64(handle.kind))
                        writer.field(2, bytes: handle.value)
                    }
                }
                writer.field(4, varint: UInt64(participant.role))
                writer.field(5, varint: UInt64(participant.permission))
            }
        }
    }

    /// The fields in canonical form; if the node refuses one, none of the item is stored.
    private static func body(_ save: NodeModifyRecordsRequest.Save) throws -> RecordBody {
        var canonicaliser = FieldCanonicaliser(zoneName: zoneName(save), zoneOwners: owners(save))
        do throws(ServiceError) {
            for field in save.fields { try canonicaliser.add(field) }
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
