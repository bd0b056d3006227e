// The methods of the protocol: the only place of the node where each is listed, with how it is
// answered, what it needs and which handler begins it.
//
// Asked by `OpenCalls+Opening` for each call. A new method takes a message, an entry here and a
// handler. `MethodTableTests` compares the table with `proto/connection.proto` and with the table
// of `proto/README.md`. hot: one look-up per call.
//
// Folder: what each family of calls reads and answers. Read `MethodTable`, `CallContext`, which is
// all that a handler gets, then one family, such as `RecordCalls`.

import CumulusModel
import CumulusOperations
import CumulusWire

struct MethodEntry: Sendable {
    /// How an answer comes.
    enum Answer: Sendable {
        case message
        /// As many messages as it takes.
        case parts
        /// The same, until the caller cancels the call.
        case endlessParts
    }

    struct Needs: OptionSet, Sendable {
        let rawValue: UInt8

        /// A request id, by which the change can be repeated safely.
        static let requestID = Needs(rawValue: 1)
        /// A user's token, or the operator's; the operation itself refuses other callers.
        static let token = Needs(rawValue: 2)
        /// Credit, beyond what a call has from the beginning.
        static let credit = Needs(rawValue: 4)
        /// The operator.
        static let `operator` = Needs(rawValue: 8)
        /// Another node of the cluster.
        static let peer = Needs(rawValue: 16)
        /// A line in the audit log, however it ends: a sign-in, an accepted share, or an act of an
        /// operator.
        static let audit = Needs(rawValue: 32)
        /// Nothing of the cluster's state: a node that is joining answers it too.
        static let anyTime = Needs(rawValue: 64)
        static let act: Needs = [.operator, .audit]
    }

    typealias Handler = @Sendable (CallContext) throws -> Void

    let method: Method
    let answer: Answer
    let needs: Needs
    /// The caller may send messages after the first one.
    let takesMessages: Bool
    /// The message may fill a frame: it brings commits, which may be larger than requests.
    let takesCommits: Bool
    let begin: Handler

    init(
        _ method: Method,
        _ answer: Answer,
        _ needs: Needs = [],
        takesMessages: Bool = false,
        takesCommits: Bool = false,
        begin: @escaping Handler
    ) {
        self.method = method
        self.answer = answer
        self.needs = needs
        self.takesMessages = takesMessages
        self.takesCommits = takesCommits
        self.begin = begin
    }

    /// Refuses callers whom the method is not for.
    func checkCaller(_ identity: Identity) throws(ServiceError) {
        guard identity.isPeer == needs.contains(.peer) else {
            throw ServiceError(
                .permissionFailure,
                "this call is for \(identity.isPeer ? "clients" : "nodes of the cluster") only"
            )
        }
        guard !needs.contains(.operator) || identity.caller.role == .operator else {
            throw ServiceError(
                .permissionFailure,
                "only an operator may do that; connect with the node's operator token"
            )
        }
    }
}

enum MethodTable {
    static let entries: [MethodEntry] = [
        .init(.recordsFetch, .parts, begin: RecordCalls.fetch),
        .init(.recordsModify, .parts, .requestID, begin: RecordCalls.modify),
        .init(.recordsList, .parts, .credit, begin: RecordCalls.list),
        .init(.recordsListConflicts, .parts, [.token, .credit], begin: RecordCalls.listConflicts),
        .init(.recordsQuery, .message, begin: QueryCalls.query),

        .init(.zonesList, .message, begin: ZoneCalls.list),
        .init(.zonesFetch, .message, begin: ZoneCalls.fetch),
        .init(.zonesModify, .message, .requestID, begin: ZoneCalls.modify),

        .init(.accountsWhoAmI, .message, begin: AccountCalls.whoAmI),
        .init(.accountsSignIn, .message, .audit, begin: SignInCalls.signIn),
        .init(.accountsRegister, .message, .audit, begin: SignInCalls.register),
        .init(.accountsSessions, .parts, .token, begin: SessionCalls.list),
        .init(.accountsRevoke, .message, [.token, .audit], begin: SessionCalls.revoke),
        .init(
            .accountsChangePassword,
            .message,
            [.token, .audit],
            begin: SignInCalls.changePassword
        ),
        .init(.accountsProfile, .message, .token, begin: PeopleCalls.profile),
        .init(.accountsSetProfile, .message, .token, begin: PeopleCalls.setProfile),
        .init(.keysList, .parts, .operator, begin: KeyCalls.list),
        .init(.keysAdd, .message, .act, begin: KeyCalls.add),
        .init(.keysRevoke, .message, .act, begin: KeyCalls.revoke),
        .init(.accountsDiscover, .message, .token, begin: PeopleCalls.discover),
        .init(.operatorSetUserState, .message, .act, begin: SessionCalls.setUserState),
        .init(.operatorSetPassword, .message, .act, begin: SignInCalls.setPassword),
        .init(.operatorSetHandle, .message, .act, begin: PeopleCalls.setHandle),

        .init(.operatorMetrics, .message, [.operator, .anyTime], begin: OperatorCalls.metrics),
        .init(.operatorStatus, .message, [.operator, .anyTime], begin: OperatorCalls.status),
        .init(.operatorListContainers, .parts, .operator, begin: AccountCalls.listContainers),
        .init(.operatorCreateContainer, .message, .act, begin: AccountCalls.createContainer),
        .init(.operatorListUsers, .parts, .operator, begin: AccountCalls.listUsers),
        .init(.operatorAddUser, .message, .act, begin: AccountCalls.addUser),
        .init(.operatorAddToken, .message, .act, begin: AccountCalls.addToken),
        .init(
            .operatorListMembers,
            .parts,
            [.operator, .anyTime],
            begin: OperatorCalls.listMembers
        ),
        .init(
            .operatorRemoveMember,
            .message,
            [.act, .anyTime],
            begin: OperatorCalls.removeMember
        ),
        .init(.operatorBackUp, .message, .act, begin: OperatorCalls.backUp),
        .init(.operatorTruncate, .message, .act, begin: OperatorCalls.truncate),
        .init(.operatorVerify, .parts, .act, begin: OperatorCalls.verify),
        .init(.operatorLeave, .message, [.act, .anyTime], begin: OperatorCalls.leave),
        .init(
            .operatorListMergePolicies,
            .message,
            .operator,
            begin: SchemaCalls.listMergePolicies
        ),
        .init(.operatorSetMergePolicy, .message, .act, begin: SchemaCalls.setMergePolicy),
        .init(.operatorZoneStatus, .parts, [.operator, .credit], begin: ZoneCalls.status),
        .init(
            .operatorRescue,
            .message,
            .act,
            takesCommits: true,
            begin: OperatorCalls.rescue
        ),

        .init(.peersPull, .endlessParts, [.peer, .credit], begin: PeerCalls.pull),
        .init(.peersState, .parts, [.peer, .credit], begin: PeerCalls.state),
        .init(.peersReport, .message, .peer, begin: PeerCalls.report),
        .init(.peersAsset, .parts, [.peer, .credit], begin: AssetCalls.sendToPeer),
        .init(.peersWanted, .parts, [.peer, .credit], begin: PeerCalls.wantedAssets),

        .init(.changesDatabase, .message, begin: ChangeCalls.database),
        .init(.changesZone, .message, begin: ChangeCalls.zone),
        .init(.changesFollowDatabase, .endlessParts, .credit, begin: FollowCalls.database),
        .init(.changesFollowZone, .endlessParts, .credit, begin: FollowCalls.zone),

        .init(.schemaRead, .parts, .operator, begin: SchemaCalls.read),
        .init(.schemaImport, .parts, .act, begin: SchemaCalls.importFile),
        .init(.schemaDeploy, .parts, .act, begin: SchemaCalls.deploy),
        .init(.indexesList, .parts, .operator, begin: IndexCalls.list),
        .init(.indexesRebuild, .parts, .act, begin: IndexCalls.rebuild),
        .init(.indexesVerify, .parts, .operator, begin: IndexCalls.verify),
        .init(.schemaReset, .parts, .act, begin: SchemaCalls.reset),
        .init(.rolesList, .parts, .operator, begin: SchemaCalls.listRoles),
        .init(.rolesSet, .message, .act, begin: SchemaCalls.setRole),

        .init(.assetsPrepare, .message, begin: AssetCalls.prepare),
        .init(.assetsUpload, .message, .credit, takesMessages: true, begin: AssetCalls.upload),
        .init(.assetsDownload, .parts, .credit, begin: AssetCalls.download),

        .init(
            .subscriptionsModify,
            .message,
            [.requestID, .token],
            begin: SubscriptionCalls.modify
        ),
        .init(.subscriptionsFetch, .parts, [.token, .credit], begin: SubscriptionCalls.fetch),
        .init(.feedsFollow, .endlessParts, [.token, .credit], begin: FeedCalls.follow),
        .init(.feedsMarkRead, .message, [.requestID, .token], begin: FeedCalls.markRead),
        .init(.subscriptionsList, .parts, .operator, begin: SubscriptionCalls.list),
        .init(.subscriptionsEnd, .message, .act, begin: SubscriptionCalls.end),

        .init(.sharingMetadata, .message, begin: ShareCalls.metadata),
        .init(.sharingAccept, .message, [.token, .audit], begin: ShareCalls.accept),
        .init(.sharingLookUp, .message, .token, begin: ShareCalls.lookUp),
        .init(.sharingList, .parts, .operator, begin: ShareCalls.list),
        .init(.sharingStop, .message, .act, begin: ShareCalls.stop),
    ]

    private static let byNumber: [MethodEntry?] = {
        let last = entries.map(\.method.rawValue).max() ?? 0
        var table = [MethodEntry?](repeating: nil, count: Int(last) + 1)
        for entry in entries { table[Int(entry.method.rawValue)] = entry }
        return table
    }()

    /// The method of a number; nil if this release does not know it.
    static func entry(_ number: UInt32) -> MethodEntry? {
        let number = Int(number)
        return number < byNumber.count ? byNumber[number] : nil
    }
}
