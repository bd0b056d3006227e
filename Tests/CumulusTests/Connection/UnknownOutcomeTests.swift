// A client's error for a change with an unknown outcome, whatever comes after; and for an invalid
// answer.

import Cumulus
import CumulusModel
import Testing

@Suite(.timeLimit(.minutes(5))) struct UnknownOutcomeTests {
    private static let note = Record(recordType: "Note", recordID: .init(recordName: "r"))

    /// The error of a save at a server that does this with one connection after the other.
    private func error(_ steps: ScriptedServer.Step...) async throws -> ServiceError {
        let server = try await ScriptedServer(steps)
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.connections = 1
        configuration.timeout = .seconds(60)
        let container = Container(identifier: "iCloud.test", configuration: configuration)
        let error = try await #require(throws: ServiceError.self) {
            try await container.privateCloudDatabase.save(Self.note)
        }
        await container.close()
        try await server.stop()
        return error
    }

    @Test(arguments: [
        ServiceError(.notAuthenticated, "the token was taken back"),
        ServiceError(.badContainer, "there is no such container"),
    ])
    func aGreetingThatIsRefusedAfterTheChangeWasSentTellsNothing(refusal: ServiceError) async throws
    {
        #expect(try await error(.dropCall, .refuseGreeting(refusal)).code == .serverResponseLost)
        #expect(try await error(.refuseGreeting(refusal)).code == refusal.code)
    }

    @Test(arguments: [
        ServiceError(.invalidArguments, .requestIDExpired, "that id is too old"),
        ServiceError(.notAuthenticated, "the token was taken back"),
        ServiceError(.internalError, "a stored row is damaged"),
        ServiceError(.serviceUnavailable, .diskFull, "the disk is full"),
    ])
    func aRepeatedChangeThatIsRefusedTellsNothing(refusal: ServiceError) async throws {
        #expect(try await error(.dropCall, .refuseCall(refusal)).code == .serverResponseLost)
    }

    /// A fault of a request was there from the beginning.
    @Test func aRequestThatIsWrongWasNeverCarriedOut() async throws {
        let refusal = ServiceError(.invalidArguments, "a name is too long")
        #expect(try await error(.dropCall, .refuseCall(refusal)).code == .invalidArguments)
    }

    @Test func anAnswerWithoutResultsIsNone() async throws {
        #expect(try await error(.answer([])).code == .internalError)
    }
}
