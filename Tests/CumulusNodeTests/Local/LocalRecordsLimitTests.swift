// Calls by values have the limits, the deadlines and the ends of calls in frames.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct LocalRecordsLimitTests {
    private func withCaller(
        _ limits: Limits = .standard,
        _ body: (LocalConnection, TestServer) async throws -> Void
    ) async throws {
        try await withServer(limits: limits) { server in
            let connection = try await server.enter(as: try await server.makeUser("ada"))
            try await body(connection, server)
            connection.close()
        }
    }

    /// What a look-up is refused with at either door; nil means that it was answered.
    private func errors(
        of request: FetchRecordsRequest,
        _ connection: LocalConnection
    ) async -> (values: ToldError?, frames: ToldError?) {
        async let values = toldError {
            _ = try await connection.fetch(.init(.recordsFetch), request)
        }
        async let frames = toldError {
            _ = try await connection.call(.init(.recordsFetch), request.encoded())
        }
        return await (values, frames)
    }

    /// A save whose answer waits for a copy on another node, and there is none.
    private static let waitingHeader: CallHeader = {
        var header = CallHeader(.recordsModify)
        header.timeout = 60_000
        header.replicas = 1
        return header
    }()

    /// Begins such a save; comes back once the node works on it.
    private func beginSave(
        _ connection: LocalConnection,
        at server: TestServer
    ) async throws -> Task<ToldError?, Never> {
        let save = Task {
            await toldError {
                _ = try await connection.modify(Self.waitingHeader, LocalCalls.save(["a"]))
            }
        }
        #expect(try await eventually { server.callsInProgress == 1 })
        return save
    }

    // MARK: Deadlines and ends

    @Test func whoseTimeIsUpIsToldSo() async throws {
        try await withCaller(limits { $0.replicaWaitMilliseconds = 100 }) { connection, server in
            let values = await toldError {
                _ = try await connection.modify(Self.waitingHeader, LocalCalls.save(["a"]))
            }
            let frames = await toldError {
                _ = try await connection.change(Self.waitingHeader, LocalCalls.save(["b"]))
            }
            #expect(values?.reason == .notReplicated)
            #expect(values == frames)
            // Only the answers had to wait.
            let request = LocalCalls.ids(["a", "b"])
            let stored = try await connection.fetch(.init(.recordsFetch), request)
            #expect(stored.count == 2 && stored.allSatisfy { $0.refusal == nil })
            #expect(server.callsInProgress == 0)
        }
    }

    @Test func aCancelledCallEndsAndOthersGoOn() async throws {
        try await withCaller { connection, server in
            let save = try await beginSave(connection, at: server)
            let beside = try await connection.fetch(
                .init(.recordsFetch),
                LocalCalls.ids(["none"])
            )
            #expect(beside.first?.refusal?.code == .unknownItem)
            #expect(server.callsInProgress == 1)
            save.cancel()
            #expect(await save.value == ToldError(.cancelledByCaller))
            #expect(server.callsInProgress == 0)
            let after = try await connection.fetch(.init(.recordsFetch), LocalCalls.ids(["none"]))
            #expect(after.count == 1)
        }
    }

    @Test func callsEndWithTheirConnection() async throws {
        try await withCaller { connection, server in
            let save = try await beginSave(connection, at: server)
            connection.close()
            #expect(await save.value?.code == .operationCancelled)
            #expect(server.callsInProgress == 0)
        }
    }

    @Test func aNodeThatGoesTakesNoCalls() async throws {
        try await withCaller { connection, server in
            server.drain()
            let errors = await errors(of: LocalCalls.ids(["a"]), connection)
            #expect(errors.values == ToldError(.draining))
            #expect(errors.values == errors.frames)
        }
    }

    @Test func aRevokedSessionEnds() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let connection = try await server.enter(as: token)
            let before = await errors(of: LocalCalls.ids(["a"]), connection)
            #expect(before.values == nil && before.frames == nil)
            let container = server.container(token: token)
            try await container.revokeAllSessions()
            await container.close()
            let after = await errors(of: LocalCalls.ids(["a"]), connection)
            #expect(after.values?.code == .notAuthenticated)
            #expect(after.values == after.frames)
            connection.close()
        }
    }

    // MARK: Limits

    private static let oneCallAtOnce = limits { $0.perCaller = CallerLimits(callsAtOnce: 1) }
    private static let oneStream = limits { $0.streamsPerConnection = 1 }

    @Test(arguments: [oneCallAtOnce, oneStream])
    func aCallTooManyIsRefused(limits: Limits) async throws {
        try await withCaller(limits) { connection, server in
            let save = try await beginSave(connection, at: server)
            let request = LocalCalls.ids(["none"])
            let errors = await errors(of: request, connection)
            #expect(errors.values?.code == .requestRateLimited)
            #expect(errors.values?.reason == .overloaded)
            #expect(errors.values == errors.frames)
            save.cancel()
            _ = await save.value
            #expect(try await connection.fetch(.init(.recordsFetch), request).count == 1)
        }
    }

    /// The connection pauses, as its caller ignores when to come again: calls wait, and none is
    /// forgotten.
    @Test func callsThatWaitForTheirTurnAllEnd() async throws {
        try await withCaller(Self.oneCallAtOnce) { connection, server in
            let save = try await beginSave(connection, at: server)
            let request = LocalCalls.ids(["none"])
            let count = Restraint.mostIgnored + 10
            let refusals = await withTaskGroup(of: ToldError?.self) { group in
                for _ in 0..<count {
                    group.addTask {
                        await toldError {
                            _ = try await connection.fetch(.init(.recordsFetch), request)
                        }
                    }
                }
                return await group.reduce(into: [ToldError?]()) { $0.append($1) }
            }
            #expect(refusals.count == count)
            #expect(refusals.allSatisfy { $0?.code == .requestRateLimited })
            save.cancel()
            _ = await save.value
            #expect(try await connection.fetch(.init(.recordsFetch), request).count == 1)
        }
    }

    @Test func aRequestThatIsTooLargeIsRefused() async throws {
        let request = LocalCalls.ids(
            (0..<40).map { "\($0)" + String(repeating: "n", count: 100) }
        )
        try await withCaller(limits { $0.itemsPerRequest = 39 }) { connection, _ in
            let errors = await errors(of: request, connection)
            #expect(errors.values?.code == .limitExceeded)
            #expect(errors.values == errors.frames)
        }
        try await withCaller(limits { $0.requestBytes = 4_000 }) { connection, _ in
            let errors = await errors(of: request, connection)
            #expect(errors.values?.reason == .tooLarge && errors.frames?.reason == .tooLarge)
            let save = LocalCalls.save(["a"], text: String(repeating: "x", count: 4_000))
            let values = await toldError {
                _ = try await connection.modify(.init(.recordsModify), save)
            }
            let frames = await toldError {
                _ = try await connection.change(.init(.recordsModify), save)
            }
            #expect(values?.reason == .tooLarge)
            #expect(values == frames)
        }
        try await withCaller(limits { $0.unansweredBytes = 4_000 }) { connection, _ in
            let errors = await errors(of: request, connection)
            #expect(errors.values?.reason == .overloaded)
            #expect(errors.values == errors.frames)
        }
    }

    /// What is read counts until its caller has it, whichever form it has.
    @Test func anAnswerForWhichTheNodeHasNoRoomIsRefused() async throws {
        try await withCaller(limits { $0.nodeUnansweredBytes = 1 << 20 }) { connection, _ in
            let text = String(repeating: "x", count: 900_000)
            let save = LocalCalls.save(["a"], text: text)
            _ = try await connection.modify(.init(.recordsModify), save)
            let errors = await errors(of: LocalCalls.ids(["a"]), connection)
            #expect(errors.values?.reason == .overloaded)
            #expect(errors.values == errors.frames)
        }
    }
}
