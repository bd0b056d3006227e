// What a caller in a node's own process asks, by values and in frames: for tests that compare what
// it is told.

import CumulusModel
import CumulusOperations
import CumulusTesting
import CumulusWire

@testable import CumulusNode

extension TestServer {
    /// Lets a caller in that is in the node's own process; nil lets in a stranger.
    func enter(as token: String?) async throws -> LocalConnection {
        let scope = ScopeID(container: TestServer.container, environment: .development)
        let proof: LocalEntrance.Proof =
            if let token { .session(digest: Sessions.digest(of: Bytes(token.utf8))) } else {
                .nothing
            }
        let entrance = LocalEntrance(scope, proof, seen: [])
        return try await LocalConnection.open(entrance, on: node).connection
    }
}

enum LocalCalls {
    static func save(
        _ names: [String],
        text: String = "some text",
        deleting deleted: [String] = [],
        in database: DatabaseScope = .private
    ) -> Bytes {
        let saves = names.map { name in
            Record(name, ["text": .string(text)]).encodedSave(allKeys: false)
        }
        return ModifyRecordsRequest(
            database: database,
            policy: 0,
            isAtomic: false,
            saves: saves,
            deletes: deleted.map { WireRecordID(Record.ID(recordName: $0)) }
        ).encoded()
    }

    static func ids(_ names: [String]) -> FetchRecordsRequest {
        let ids = names.map { WireRecordID(Record.ID(recordName: $0)) }
        return FetchRecordsRequest(database: .private, ids: ids)
    }
}

/// All that an error tells a caller.
struct ToldError: Equatable {
    let code: ServiceError.Code
    let reason: ServiceError.Reason
    let message: String
    let retryAfter: UInt32?

    init(_ error: ServiceError) {
        code = error.code
        reason = error.reason
        message = error.message
        retryAfter = error.retryAfterMilliseconds
    }
}

/// The error that a body ends with; nil if it ends well.
func toldError(of body: () async throws -> Void) async -> ToldError? {
    do {
        try await body()
        return nil
    } catch let error as ServiceError {
        return ToldError(error)
    } catch {
        return ToldError(ServiceError(.internalError, "\(error)"))
    }
}
