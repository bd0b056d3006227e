// What the tests of this folder say again and again: a node for the length of a test, a signed-in
// raw client, short records.

import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import Testing

/// Runs a test against a node that ends with it.
func withServer(
    engine: any StorageEngine = MemoryEngine(),
    packs: any PackFiles = MemoryPacks(),
    limits: Limits = .standard,
    diskReserve: UInt64 = 0,
    deleteReserve: UInt64 = 0,
    startsThreads: Bool = true,
    _ body: (TestServer) async throws -> Void
) async throws {
    let server = try await TestServer(
        engine: engine,
        packs: packs,
        limits: limits,
        diskReserve: diskReserve,
        deleteReserve: deleteReserve,
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

/// Waits until something holds, for a minute: other tests may keep the processors busy.
func eventually(
    seconds: Int = 60,
    _ condition: () async throws -> Bool
) async throws -> Bool {
    for _ in 0..<(seconds * 100) {
        if try await condition() { return true }
        try await Task.sleep(for: .milliseconds(10))
    }
    return false
}

/// Waits until a node knows a user that another one made.
func waitForUser(_ token: String, at server: TestServer) async throws {
    for _ in 0..<3_000 {
        if (try? RawClient(greeting: server.endpoint, token: token)) != nil { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the user's token did not arrive")
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
            RawRequest.save([record]),
            milliseconds: milliseconds,
            requestID: RawRequest.newID()
        )
        try send(call)
        return call
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

extension Result where Failure == ServiceError {
    /// The error of an item; nil if the item went well.
    var refusal: ServiceError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

/// Waits for an answer on a thread of its own.
///
/// The node needs one of the threads that tasks share in order to answer, and other tests may block
/// all of them but this.
func besideTasks<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
