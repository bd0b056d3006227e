// What a client makes of a node that refuses it, and of several that don't agree.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
    private static let note = Record(recordType: "Note", recordID: .init(recordName: "r"))

    private func container(
        _ endpoints: [String],
        token: String? = nil,
        timeout: Duration = .seconds(60)
    ) -> Container {
        var configuration = Container.Configuration(endpoints: endpoints)
        configuration.accessToken = token
        configuration.connections = 1
        configuration.timeout = timeout
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    /// The error of a save at these servers.
    private func error(
        at servers: [ScriptedServer],
        timeout: Duration = .seconds(60)
    ) async throws -> ServiceError {
        let container = container(servers.map(\.endpoint), timeout: timeout)
        let error = try await #require(throws: ServiceError.self) {
            try await container.privateCloudDatabase.save(Self.note)
        }
        await container.close()
        for server in servers { try? await server.stop() }
        return error
    }

    /// A list is opened again like any read, as long as nothing of it has come.
    @Test func aListIsOpenedElsewhere() async throws {
        let behind = ServiceError(.serviceUnavailable, .nodeBehind, "behind")
        let first = try await ScriptedServer([.refuseCall(behind)])
        let second = try await ScriptedServer([.dropCall, .answer([])])
        let container = container([first.endpoint, second.endpoint])
        var count = 0
        for try await _ in container.publicCloudDatabase.allRecords() { count += 1 }
        #expect(count == 0)
        #expect(first.calls > 0)
        #expect(second.calls == 2)
        await container.close()
        try await first.stop()
        try await second.stop()
    }

    /// Nobody listens there: a thousand calls wait for a connection, and the next one is refused.
    @Test func aThousandCallsWaitAndNoMore() async throws {
        let container = container(["127.0.0.1:1"])
        let codes = await withTaskGroup { group in
            for _ in 0..<1_001 {
                group.addTask { () -> ServiceError.Code? in
                    do {
                        _ = try await container.privateCloudDatabase.allRecordZones()
                        return nil
                    } catch {
                        return (error as? ServiceError)?.code
                    }
                }
            }
            let first = await group.next()
            group.cancelAll()
            return await group.reduce(into: [first ?? nil]) { $0.append($1) }
        }
        #expect(codes.first == .requestRateLimited)
        #expect(codes.dropFirst().allSatisfy { $0 == .operationCancelled })
        await container.close()
    }

    @Test(arguments: [
        ServiceError(.serviceUnavailable, .clockWrong, "its clock is wrong"),
        ServiceError(.serviceUnavailable, .diskFull, "its disk is full"),
        ServiceError(.serviceUnavailable, .draining, "it is leaving"),
        ServiceError(.serviceUnavailable, .nodeBehind, "it is behind"),
        ServiceError(.zoneBusy, "it takes in a state"),
    ])
    func whatOneNodeCantDoAnotherOneDoes(refusal: ServiceError) async throws {
        let others = [
            try await ScriptedServer([.refuseCall(refusal)]),
            try await ScriptedServer([.refuseCall(refusal)]),
        ]
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let container = container(others.map(\.endpoint) + [server.endpoint], token: token)
        _ = try await container.privateCloudDatabase.save(Self.note)
        #expect(others.map(\.calls) == [1, 1])
        await container.close()
        for other in others { try await other.stop() }
        try await server.stop()
    }

    /// A new token may not be known everywhere yet.
    @Test func whomOneNodeRefusesAnotherOneMayTake() async throws {
        let refusal = ServiceError(.notAuthenticated, "the token is unknown")
        let other = try await ScriptedServer([.refuseGreeting(refusal)])
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let container = container([other.endpoint, server.endpoint], token: token)
        _ = try await container.privateCloudDatabase.save(Self.note)
        await container.close()
        try await other.stop()
        try await server.stop()
    }

    @Test func whomAllNodesRefuseIsToldAtOnce() async throws {
        let refusal = ServiceError(.notAuthenticated, "the token is unknown")
        let servers = [
            try await ScriptedServer([.refuseGreeting(refusal)]),
            try await ScriptedServer([.refuseGreeting(refusal)]),
        ]
        let error = try await error(at: servers)
        #expect(error.code == .notAuthenticated)
    }

    /// One can't be reached: what the other one says is all that will be heard.
    @Test func aRefusalCountsThoughTheOthersAreDown() async throws {
        let refusal = ServiceError(.badContainer, "there is no such container")
        let gone = try await ScriptedServer([.refuseGreeting(refusal)])
        try await gone.stop()
        let error = try await error(at: [
            gone, ScriptedServer([.refuseGreeting(refusal)]),
        ])
        #expect(error.code == .badContainer)
    }

    @Test func aBusyNodeIsGreetedAgain() async throws {
        let busy = ServiceError(.requestRateLimited, .overloaded, "too many reads are waiting")
        let wrong = ServiceError(.invalidArguments, "a name is too long")
        let server = try await ScriptedServer([.refuseGreeting(busy), .refuseCall(wrong)])
        let error = try await error(at: [server])
        #expect(error.code == .invalidArguments)
    }

    /// A node that is not ready refuses the greeting with this.
    private static let notReady: ServiceError = {
        var error = ServiceError(.serviceUnavailable, .nodeBehind, "it has no state yet")
        error.retryAfterMilliseconds = 700
        return error
    }()

    /// By itself a client would greet it much more often.
    @Test func aNodeThatIsNotReadyIsGreetedAgainWhenItSays() async throws {
        let server = try await ScriptedServer([.refuseGreeting(Self.notReady)])
        let error = try await error(at: [server], timeout: .seconds(2))
        #expect(error.code == .serviceUnavailable)
        #expect(error.retryAfterMilliseconds == 700)
        #expect(error.message.contains(server.endpoint), "\(error)")
        #expect(error.message.contains("it has no state yet"), "\(error)")
        #expect(server.connections <= 3)
    }

    @Test func anotherNodeIsAskedMeanwhile() async throws {
        let other = try await ScriptedServer([.refuseGreeting(Self.notReady)])
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let container = container([other.endpoint, server.endpoint], token: token)
        _ = try await container.privateCloudDatabase.save(Self.note)
        #expect(other.connections == 1)
        await container.close()
        try await other.stop()
        try await server.stop()
    }

    /// By itself a client would ask again much more often.
    @Test func aPauseThatIsAskedForIsMade() async throws {
        var busy = ServiceError(.requestRateLimited, .overloaded, "too many reads are waiting")
        busy.retryAfterMilliseconds = 700
        let server = try await ScriptedServer([.refuseCall(busy)])
        let error = try await error(at: [server], timeout: .seconds(2))
        #expect(error.code == .requestRateLimited)
        #expect(server.calls <= 3)
    }

    /// A node would refuse the others, and make them wait longer than they have to.
    @Test func noMoreCallsAreSentThanANodeTakesAtOnce() async throws {
        var limits = Limits.standard
        limits.perCaller.callsAtOnce = 2
        let server = try await ScriptedServer([.calls([.ignore])], limits: limits)
        let container = container([server.endpoint])
        let calls = (0..<10).map { number in
            Task {
                let id = Record.ID(recordName: "r\(number)")
                _ = try? await container.publicCloudDatabase.record(for: id)
            }
        }
        for _ in 0..<1_000 where server.calls < 2 { try await Task.sleep(for: .milliseconds(10)) }
        try await Task.sleep(for: .milliseconds(100))
        #expect(server.calls == 2)
        // A followed stream is not counted.
        let followed = Task {
            for try await _ in container.privateCloudDatabase.followDatabaseChanges(since: nil) {}
        }
        for _ in 0..<1_000 where server.calls < 3 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(server.requests.last?.method == Method.changesFollowDatabase.rawValue)
        followed.cancel()
        for call in calls { call.cancel() }
        for call in calls { await call.value }
        await container.close()
        try await server.stop()
    }

    @Test(arguments: [Int64.min, .max]) func noClockOfAServerIsTooWrong(clock: Int64) async throws {
        let wrong = ServiceError(.invalidArguments, "a name is too long")
        let server = try await ScriptedServer([.refuseCall(wrong)], clock: clock)
        let error = try await error(at: [server])
        #expect(error.code == .invalidArguments)
    }

    @Test func aConfigurationNeedsAnEndpoint() async throws {
        #expect(try await error(at: []).code == .invalidArguments)
    }

    /// Finished items are reported, whatever happens to the rest.
    @Test func aPartThatFailsTakesNoOtherWithIt() async throws {
        var limits = Limits.standard
        limits.itemsPerRequest = 1
        // The first deletion succeeds.
        let steps = [
            ScriptedServer.Step.calls([.answer([0x12, 0]), .drop]), .refuseCall(Self.full),
        ]
        let server = try await ScriptedServer(steps, limits: limits)
        let container = container([server.endpoint])
        let ids = ["a", "b", "c"].map { Record.ID(recordName: $0) }
        let results = try await container.privateCloudDatabase.modifyRecords(
            saving: [],
            deleting: ids
        )
        .deleteResults
        let codes = ids.map { id -> ServiceError.Code? in
            guard case .failure(let error as ServiceError)? = results[id] else { return nil }
            return error.code
        }
        #expect(results.count == 3)
        #expect(codes == [nil, .serverResponseLost, .networkFailure])
        await container.close()
        try await server.stop()
    }

    private static let full = ServiceError(.serviceUnavailable, .diskFull, "the disk is full")
}
