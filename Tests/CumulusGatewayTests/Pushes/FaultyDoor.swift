// A node's door for couriers with faults: it refuses marks, and its wall clock goes as tests say.

import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import CumulusWire
import Synchronization

final class FaultyDoor: PushDoor {
    private struct State {
        var lead: Int64 = 0
        var refuses = false
        var refused = 0
        var taken = 0
    }

    private let door: NodeDoor
    private let state = Mutex(State())

    init(_ server: TestServer) { door = NodeDoor(server.node) { _ in nil } }

    /// Lets the clock of couriers go ahead, by so many milliseconds.
    func lead(_ milliseconds: Int64) { state.withLock { $0.lead += milliseconds } }

    /// Whether marks are refused, as on a full disk.
    func refuseMarks(_ refuses: Bool) { state.withLock { $0.refuses = refuses } }

    /// Marks that were refused.
    var refused: Int { state.withLock(\.refused) }
    /// Marks that the node has taken.
    var taken: Int { state.withLock(\.taken) }

    fileprivate func isRefused(_ method: Method) -> Bool {
        state.withLock { state in
            guard method == .feedsMarkRead, state.refuses else { return false }
            state.refused += 1
            return true
        }
    }

    fileprivate func noteAnswered(_ method: Method) {
        if method == .feedsMarkRead { state.withLock { $0.taken += 1 } }
    }

    var now: Int64 { door.now + state.withLock(\.lead) }

    func nanoseconds() -> UInt64 { door.nanoseconds() }

    func sleep(_ milliseconds: Int64) async throws { try await door.sleep(milliseconds) }

    func random() -> UInt64 { door.random() }

    func enter(_ entrance: LocalEntrance) async throws(ServiceError) -> any WebCalls {
        FaultyCalls(calls: try await door.enter(entrance), door: self)
    }

    func pushAddresses(
        after known: PushAddresses
    ) async throws(ServiceError) -> PushAddresses {
        try await door.pushAddresses(after: known)
    }

    func isPushed(_ target: PushAddresses.Target) async throws(ServiceError) -> Bool {
        try await door.isPushed(target)
    }

    func end(_ targets: [PushAddresses.Target]) async throws { try await door.end(targets) }

    func feedAfterMarks(
        of target: PushAddresses.Target
    ) async throws(ServiceError) -> Bytes {
        try await door.feedAfterMarks(of: target)
    }

    func pushMembers() async throws(ServiceError) -> PushMembers { try await door.pushMembers() }
}

private struct FaultyCalls: WebCalls {
    let calls: any WebCalls
    let door: FaultyDoor

    var user: String { calls.user }
    var reached: Bytes? { calls.reached }

    func fetch(_ request: FetchRecordsRequest) async throws(ServiceError) -> [RecordResult] {
        try await calls.fetch(request)
    }

    func query(_ request: QueryRecordsRequest) async throws(ServiceError) -> FoundRecords {
        try await calls.query(request)
    }

    func modify(
        _ message: Bytes,
        overReadable: Bool
    ) async throws(ServiceError) -> ModifiedRecords {
        try await calls.modify(message, overReadable: overReadable)
    }

    func read(_ method: Method, _ message: Bytes) async throws(ServiceError) -> [Bytes] {
        try await calls.read(method, message)
    }

    func change(_ method: Method, _ message: Bytes) async throws(ServiceError) -> [Bytes] {
        if door.isRefused(method) { throw ServiceError(.serviceUnavailable, "the disk is full") }
        let answer = try await calls.change(method, message)
        door.noteAnswered(method)
        return answer
    }

    func upload(
        _ method: Method,
        _ message: Bytes,
        _ messages: [Bytes]
    ) async throws(ServiceError) -> [Bytes] {
        try await calls.upload(method, message, messages)
    }

    func follow(_ method: Method, _ message: Bytes) async -> LocalStream {
        await calls.follow(method, message)
    }

    func columns(
        of types: [String]
    ) async throws(ServiceError) -> [String: [String: FieldType]] {
        try await calls.columns(of: types)
    }

    func close() { calls.close() }
}
