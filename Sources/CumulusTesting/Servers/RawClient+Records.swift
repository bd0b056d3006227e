// Saves, fetches and lists of a raw client, in one line each.

package import CumulusModel
import CumulusStorage
package import CumulusWire
import Foundation

/// Messages of calls on records.
package enum RawRequest {
    /// A request id of this moment.
    package static func newID() -> Bytes {
        var dice = SystemRandomNumberGenerator()
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        return RequestID(milliseconds: now, using: &dice).bytes
    }

    package static func save(
        _ records: [Record],
        in database: DatabaseScope = .private
    ) -> Bytes {
        save(encoded: records.map { $0.encodedSave(allKeys: true) }, in: database)
    }

    /// A save of `SaveRecord`s that a test made by hand.
    package static func save(
        encoded saves: [Bytes],
        in database: DatabaseScope = .private,
        policy: UInt32 = 0
    ) -> Bytes {
        ModifyRecordsRequest(
            database: database,
            policy: policy,
            isAtomic: true,
            saves: saves,
            deletes: []
        ).encoded()
    }

    package static func fetch(
        _ names: [String],
        in database: DatabaseScope = .private
    ) -> Bytes {
        let ids = names.map { WireRecordID(name: Bytes($0.utf8), zone: nil) }
        return FetchRecordsRequest(database: database, ids: ids).encoded()
    }

    package static func list(in database: DatabaseScope = .private) -> Bytes {
        ListRecordsRequest(database: database, zone: nil).encoded()
    }
}

extension RawClient {
    /// Saves and waits; a result per record.
    @discardableResult
    package func save(
        _ records: [Record],
        in database: DatabaseScope = .private
    ) throws -> [RecordResult] {
        try modify(RawRequest.save(records, in: database), id: RawRequest.newID()).saves
    }

    package func modify(_ request: Bytes, id: Bytes) throws -> ModifyRecordsResponse {
        let messages = try perform(.recordsModify, request, requestID: id)
        return try ModifyRecordsResponse(wire: messages.first ?? [])
    }

    package func fetch(
        _ names: String...,
        in database: DatabaseScope = .private
    ) throws -> [RecordResult] {
        let messages = try perform(.recordsFetch, RawRequest.fetch(names, in: database))
        return try messages.flatMap { try FetchRecordsResponse(wire: $0).results }
    }
}
