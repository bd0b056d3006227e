// An operator's calls that delete something for good, once they have said what goes along.
//
// `MethodTable` lists them. The deletion is one commit; `DeletionKeeper` does the rest.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum DeletionCalls {
    static let methods: [MethodEntry] = [
        .init(
            .operatorDeleteUser,
            .message,
            .act,
            parse: decoded(DeleteUserRequest.init(wire:)),
            begin: deleteUser
        ),
        .init(
            .operatorDeleteContainer,
            .message,
            .act,
            parse: decoded(DeleteContainerRequest.init(wire:)),
            begin: deleteContainer
        ),
    ]

    private static func deleteUser(_ request: DeletionRequest, _ context: CallContext) throws {
        let name = try Names.checkIdentifier(request.name[...], "user name")
        context.concerns(name)
        try begin(request, DeleteUser(name), context) { reader, now in
            try Holdings(ofUser: name, now: now, in: reader)
        }
    }

    private static func deleteContainer(
        _ request: DeletionRequest,
        _ context: CallContext
    ) throws {
        let name = try Names.checkIdentifier(request.name[...], "container")
        context.concerns(name)
        try begin(request, DeleteContainer(name), context) { reader, _ in
            try Holdings(ofContainer: name, in: reader)
        }
    }

    /// Counts what goes, and deletes it unless the request only asks.
    private static func begin<Deletion: AccountChange>(
        _ request: DeletionRequest,
        _ deletion: Deletion,
        _ context: CallContext,
        _ count: @escaping @Sendable (ReadTransaction, Int64) throws -> Holdings
    ) throws {
        if request.onlyShows { context.concerns(shown(request)) }
        context.task { node, time in
            let now = node.clock
            let holdings = try await node.gate.reading { try count($0, now) }
            let answer = DeletionResponse(WireHoldings(holdings), backups: node.knownBackups())
            if request.onlyShows { return answer.encoded() }
            let identity = context.identity
            let change = WriteRequest(
                deletion,
                caller: identity.caller,
                credential: identity.credential
            )
            _ = try await node.gate.perform(change, time.token)
            return answer.encoded()
        }
    }

    /// For the audit log.
    private static func shown(_ request: DeletionRequest) -> String {
        "\(String(decoding: request.name, as: UTF8.self)): nothing deleted, only shown"
    }
}

extension WireHoldings {
    fileprivate init(_ holdings: Holdings) {
        self.init()
        zones = UInt64(holdings.zones)
        records = holdings.usage.records
        bytes = holdings.usage.bytes
        assets = UInt64(holdings.assets)
        assetBytes = UInt64(holdings.assetBytes)
        shares = UInt64(holdings.shares)
        joinedShares = UInt64(holdings.joinedShares)
        subscriptions = UInt64(holdings.subscriptions)
        roles = UInt64(holdings.roles)
        sessions = UInt64(holdings.sessions)
        handles = UInt64(holdings.handles)
        keys = UInt64(holdings.keys)
        users = UInt64(holdings.users)
    }
}
