// What the tests of this folder say again and again: a node for the length of a test, a signed-in
// raw client, saves and fetches in one line.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import Testing

/// Runs a test against a node that ends with it.
func withServer(
    engine: any StorageEngine = MemoryEngine(),
    limits: Limits = .standard,
    diskReserve: UInt64 = 0,
    startsThreads: Bool = true,
    _ body: (TestServer) async throws -> Void
) async throws {
    let server = try await TestServer(
        engine: engine,
        limits: limits,
        diskReserve: diskReserve,
        startsThreads: startsThreads
    )
    do {
        try await body(server)
    } catch {
        try await server.stop()
        throw error
    }
    try await server.stop()
}

/// A user's token in an engine, for a node that will run without threads.
func makeToken(in engine: any StorageEngine, user: String = "ada") async throws -> String {
    var token = ""
    try await withServer(engine: engine) { token = try await $0.makeUser(user) }
    return token
}

/// The limits with some of them changed.
func limits(_ change: (inout Limits) -> Void) -> Limits {
    var limits = Limits.standard
    change(&limits)
    return limits
}

/// Waits until something holds, for a few seconds.
func eventually(_ condition: () throws -> Bool) async throws -> Bool {
    for _ in 0..<500 {
        if try condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return false
}

/// A request id of this moment.
func newRequestID() -> Bytes {
    var dice = SystemRandomNumberGenerator()
    let now = Int64(Date().timeIntervalSince1970 * 1_000)
    return RequestID(milliseconds: now, using: &dice).bytes
}

enum Requests {
    static func save(
        _ records: [Record],
        in database: DatabaseScope = .private,
        policy: UInt32 = 0
    ) -> Bytes {
        ModifyRecordsRequest.encoded(
            database: database,
            policy: policy,
            isAtomic: true,
            saves: records.map { $0.encodedSave(allKeys: true) },
            deletes: []
        )
    }

    static func fetch(_ names: [String], in database: DatabaseScope = .private) -> Bytes {
        let ids = names.map { WireRecordID(name: Bytes($0.utf8), zone: nil) }
        return FetchRecordsRequest(database: database, ids: ids).encoded()
    }

    static func list(in database: DatabaseScope = .private) -> Bytes {
        ListRecordsRequest(database: database, zone: nil).encoded()
    }
}

extension Record {
    init(_ name: String, _ fields: [String: FieldValue] = ["title": "a note"]) {
        self.init(recordType: "Note", recordID: Record.ID(recordName: name))
        for (key, value) in fields { self[key] = value }
    }
}

extension RawClient {
    /// Sends a save and doesn't wait.
    func beginSave(_ record: Record, milliseconds: UInt32 = 0) throws -> Frame {
        let call = call(
            .recordsModify,
            Requests.save([record]),
            milliseconds: milliseconds,
            requestID: newRequestID()
        )
        try send(call)
        return call
    }

    @discardableResult
    func save(_ records: [Record], in database: DatabaseScope = .private) throws -> [RecordResult] {
        let request = Requests.save(records, in: database)
        return try modify(request, id: newRequestID()).saves
    }

    func modify(_ request: Bytes, id: Bytes) throws -> ModifyRecordsResponse {
        let messages = try perform(.recordsModify, request, requestID: id)
        return try ModifyRecordsResponse(wire: messages[0])
    }

    func fetch(_ names: String..., in database: DatabaseScope = .private) throws -> [RecordResult] {
        let messages = try perform(.recordsFetch, Requests.fetch(names, in: database))
        return try messages.flatMap { try FetchRecordsResponse.results(wire: $0) }
    }
}

/// The error that a body ends with; a body that ends well is an issue.
func error(
    sourceLocation: SourceLocation = #_sourceLocation,
    of body: () throws -> Void
) throws -> ServiceError {
    do {
        try body()
    } catch let error as ServiceError {
        return error
    }
    Issue.record("there was no error", sourceLocation: sourceLocation)
    return ServiceError(.internalError, "none")
}
