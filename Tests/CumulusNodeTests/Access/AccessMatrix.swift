// The access matrix: what each method answers to each kind of caller, row by row.
//
// Checked by `AccessMatrixTests` on a node with real sockets. A method has one row for each target
// that makes a difference: somebody's own private zone, and the public database by what grants say.
// Operators' and peers' methods get a message that can't be read. Callers who may use them are told
// that (12); all others are refused before anything is read.

import CumulusAssets
import CumulusModel
import CumulusTesting
import CumulusWire

struct AccessMatrix {
    /// The callers; the words of a row are in this order.
    enum Who: String, CaseIterable {
        case anonymous
        /// Ada, whose the private zone and the public records are.
        case owner
        /// Bob, a user like any other.
        case other
        /// A user who was given the role of the schema.
        case moderator
        case `operator`
        case peer
    }

    enum Target {
        /// The request depends on the caller only.
        case own
        /// Ada's private zone, which every caller names with its owner.
        case privateZone
        /// A public record that everybody may read and its creator change.
        case note
        /// A public record that its creator and moderators may read and change.
        case report
    }

    /// The expectations of a method.
    struct Row {
        let method: Method
        let target: Target
        /// For each of `Who`: an error's number; `ok`; `told`, an answer that shows the target;
        /// `·`, anything but a refusal (9, 10); `-`, not asked.
        let expected: [String]
        let message: @Sendable (AccessMatrix) throws -> Bytes

        init(
            _ method: Method,
            _ target: Target = .own,
            _ expected: String,
            _ message: @escaping @Sendable (AccessMatrix) throws -> Bytes = { _ in [0xFF] }
        ) {
            self.method = method
            self.target = target
            self.expected = expected.split(separator: " ").map(String.init)
            self.message = message
        }
    }

    /// Ada's record name.
    let owner: String

    static let zone = "target-zone"
    /// What shows one of the targets.
    static let signs: [Target: String] = [
        .own: "target-subscription", .privateZone: "target-", .note: "target-note",
        .report: "target-report",
    ]

    static let schema = """
        DEFINE SCHEMA
            CREATE ROLE Moderator;
            RECORD TYPE Post (
                "___recordID" REFERENCE QUERYABLE, text STRING,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            RECORD TYPE Report (
                "___recordID" REFERENCE QUERYABLE, text STRING,
                GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator",
                GRANT READ, WRITE TO Moderator
            );
        """

    // MARK: Rows

    static let rows: [Row] =
        recordRows + zoneRows + changeRows + assetRows + subscriptionRows + pushRows + accountRows
        + operatorRows + peerRows

    private static let recordRows: [Row] = [
        .init(.recordsFetch, .privateZone, "9 told 26 26 10 10") { $0.fetch(.privateZone) },
        .init(.recordsFetch, .note, "told told told told told 10") { $0.fetch(.note) },
        .init(.recordsFetch, .report, "10 told 10 told told 10") { $0.fetch(.report) },
        .init(.recordsModify, .privateZone, "9 ok 26 26 10 10") { $0.save(.privateZone) },
        .init(.recordsModify, .note, "9 ok 10 10 10 10") { $0.save(.note) },
        .init(.recordsModify, .report, "9 ok 10 ok 10 10") { $0.save(.report) },
        .init(.recordsList, .privateZone, "9 told 26 26 10 10") { $0.list(.privateZone) },
        .init(.recordsList, .note, "told told told told told 10") { $0.list(.note) },
        .init(.recordsList, .report, "ok told ok told told 10") { $0.list(.report) },
        .init(.recordsListConflicts, .own, "9 ok ok ok ok 10") { _ in [] },
        .init(.recordsQuery, .privateZone, "9 told 26 26 10 10") { $0.query(.privateZone) },
        .init(.recordsQuery, .note, "told told told told told 10") { $0.query(.note) },
        .init(.recordsQuery, .report, "10 told ok told told 10") { $0.query(.report) },
    ]

    private static let zoneRows: [Row] = [
        .init(.zonesList, .privateZone, "9 told ok ok 10 10") { _ in
            ListZonesRequest(database: .private).encoded()
        },
        .init(.zonesList, .note, "ok ok ok ok ok 10") { _ in
            ListZonesRequest(database: .public).encoded()
        },
        .init(.zonesFetch, .privateZone, "9 told 26 26 10 10") {
            FetchZonesRequest(database: .private, ids: [$0.wireZone]).encoded()
        },
        .init(.zonesFetch, .note, "ok ok ok ok ok 10") { _ in
            FetchZonesRequest(database: .public, ids: [defaultZone]).encoded()
        },
        .init(.zonesModify, .privateZone, "9 ok 26 26 10 10") {
            ModifyZonesRequest(database: .private, saves: [$0.wireZone], deletes: []).encoded()
        },
        .init(.zonesModify, .note, "9 24 24 24 24 10") {
            ModifyZonesRequest(database: .public, saves: [$0.wireZone], deletes: []).encoded()
        },
    ]

    private static let changeRows: [Row] = [
        .init(.changesDatabase, .privateZone, "9 told ok ok 10 10") { _ in database(.private) },
        .init(.changesDatabase, .note, "12 12 12 12 12 10") { _ in database(.public) },
        .init(.changesZone, .privateZone, "9 told 26 26 10 10") { $0.changes(.privateZone) },
        .init(.changesZone, .note, "12 12 12 12 12 10") { $0.changes(.note) },
        .init(.changesFollowDatabase, .privateZone, "9 told ok ok 10 10") { _ in
            database(.private)
        },
        .init(.changesFollowZone, .privateZone, "9 told 26 26 10 10") { $0.changes(.privateZone) },
        .init(.changesFollowZone, .note, "told told told told told 10") { $0.changes(.note) },
        .init(.changesFollowZone, .report, "ok told ok told told 10") { $0.changes(.report) },
    ]

    /// A digest that nothing has; `DigestAttackTests` and `AssetClaimsTests` ask for others'.
    private static let assetRows: [Row] = [
        .init(.assetsPrepare, .privateZone, "9 ok ok ok 10 10") { _ in
            PrepareAssetsRequest(database: .private, lists: []).encoded()
        },
        .init(.assetsPrepare, .note, "9 ok ok ok 10 10") { _ in
            PrepareAssetsRequest(database: .public, lists: []).encoded()
        },
        .init(.assetsUpload, .privateZone, "9 · · · 10 10") { _ in
            UploadChunksRequest(database: .private).encoded()
        },
        .init(.assetsUpload, .note, "9 · · · 10 10") { _ in
            UploadChunksRequest(database: .public).encoded()
        },
        .init(.assetsDownload, .privateZone, "9 35 35 35 10 10") { _ in
            DownloadAssetRequest(database: .private, asset: nobodys).encoded()
        },
        .init(.assetsDownload, .note, "35 35 35 35 35 10") { _ in
            DownloadAssetRequest(database: .public, asset: nobodys).encoded()
        },
    ]

    private static let subscriptionRows: [Row] = [
        .init(.subscriptionsFetch, .own, "9 told ok ok 10 10") { _ in
            FetchSubscriptionsRequest(database: .private, ids: nil).encoded()
        },
        .init(.subscriptionsModify, .own, "9 ok ok ok 10 10") { _ in
            AccessMatrix.subscribing("another-one", to: "Post")
        },
        .init(.feedsFollow, .own, "9 · · · 10 10") { _ in FollowFeedRequest(token: []).encoded() },
        .init(.feedsMarkRead, .own, "9 · · · 10 10") { _ in
            MarkReadRequest(ids: [Bytes(repeating: 0, count: 16)]).encoded()
        },
    ]

    /// The node has no push service, so an address is refused.
    private static let pushRows: [Row] = [
        .init(.pushesRegister, .own, "9 12 12 12 10 10") { _ in
            RegisterPushRequest(.fcm(token: "t")).encoded()
        },
        .init(.pushesList, .own, "9 ok ok ok 12 10") { _ in ListPushesRequest([]).encoded() },
        .init(.pushesList, .privateZone, "9 10 10 10 ok 10") { _ in
            ListPushesRequest(Bytes("ada".utf8)).encoded()
        },
        .init(.pushesEnd, .own, "9 ok ok ok 12 10") { _ in
            EndPushesRequest(id: Bytes(repeating: 7, count: 16)).encoded()
        },
        .init(.pushesEnd, .privateZone, "9 10 10 10 ok 10") { _ in
            EndPushesRequest(
                id: Bytes(repeating: 7, count: 16),
                user: Bytes("ada".utf8)
            ).encoded()
        },
        .init(.pushesServices, .own, "ok ok ok ok ok 10") { _ in [] },
    ]

    private static let accountRows: [Row] = [
        .init(.accountsWhoAmI, .own, "ok ok ok ok ok 10") { _ in [] },
        .init(.accountsSignIn, .own, "· · · · · 10"),
        // Nobody registers at a node that takes no registrations.
        .init(.accountsResetPassword, .own, "· · · · · 10"),
        .init(.accountsRegister, .own, "10 10 10 10 10 10"),
        .init(.accountsSessions, .own, "9 ok ok ok 12 10") { _ in
            SessionsRequest([]).encoded()
        },
        .init(.accountsSessions, .privateZone, "9 10 10 10 ok 10") { _ in
            SessionsRequest(Bytes("ada".utf8)).encoded()
        },
        .init(.accountsRevoke, .own, "9 ok ok ok 12 10") { _ in
            RevokeSessionsRequest(id: nobodys, user: []).encoded()
        },
        .init(.accountsRevoke, .privateZone, "9 10 10 10 ok 10") { _ in
            RevokeSessionsRequest(id: nobodys, user: Bytes("ada".utf8)).encoded()
        },
        .init(.accountsChangePassword, .own, "9 · · · 9 10"),
        .init(.accountsProfile, .own, "9 · · · · 10"),
        .init(.accountsSetProfile, .own, "9 · · · · 10"),
        .init(.accountsDiscover, .own, "9 · · · - 10"),
        .init(.sharingMetadata, .own, "· · · · 9 10"),
        .init(.sharingAccept, .own, "9 · · · 9 10"),
        .init(.sharingLookUp, .own, "9 · · · 9 10"),
    ]

    private static let operatorRows: [Row] =
        [
            .keysList, .keysAdd, .keysRevoke, .webAppsList, .webAppsSet, .webAppsRemove,
            .accountsMakeResetLink, .operatorSetHandle, .operatorListOperators,
            .operatorAddOperator, .operatorRemoveOperator,
            .operatorDeleteContainer, .operatorDeleteUser, .operatorSetUserState,
            .operatorSetPassword, .operatorStatus, .operatorMetrics,
            .operatorListContainers,
            .operatorCreateContainer, .operatorListUsers, .operatorAddUser, .operatorAddToken,
            .operatorListMembers, .operatorRemoveMember, .operatorBackUp, .operatorTruncate,
            .operatorVerify, .operatorListMergePolicies, .operatorSetMergePolicy,
            .operatorZoneStatus, .operatorRescue, .schemaRead, .schemaImport, .schemaDeploy,
            .indexesList, .indexesRebuild, .indexesVerify, .schemaReset, .rolesList, .rolesSet,
            .sharingList, .sharingStop, .subscriptionsList, .subscriptionsEnd,
        ].map { Row($0, .own, "10 10 10 10 · 10") }
        // An operator would send the node away.
        + [Row(.operatorLeave, .own, "10 10 10 10 - 10")]

    private static let peerRows: [Row] =
        [.peersPull, .peersState, .peersReport, .peersAsset, .peersWanted].map {
            Row($0, .own, "10 10 10 10 10 ·")
        }

    // MARK: Messages

    private static let nobodys = Bytes(repeating: 7, count: 32)
    private static let defaultZone = WireZoneID(name: Bytes(Names.defaultZone.utf8), owner: [])

    private var wireZone: WireZoneID {
        WireZoneID(name: Bytes(Self.zone.utf8), owner: Bytes(owner.utf8))
    }

    private var zoneID: RecordZone.ID { RecordZone.ID(zoneName: Self.zone, ownerName: owner) }

    private func wireZone(of target: Target) -> WireZoneID {
        target == .privateZone ? wireZone : Self.defaultZone
    }

    private func database(of target: Target) -> DatabaseScope {
        target == .privateZone ? .private : .public
    }

    private func record(_ target: Target) -> Record {
        let name = target == .privateZone ? "target-record" : Self.signs[target] ?? ""
        let id = Record.ID(
            recordName: name,
            zoneID: target == .privateZone ? zoneID : RecordZone.ID.default
        )
        var record = Record(recordType: target == .note ? "Post" : "Report", recordID: id)
        record["text"] = .string("\(name), as its readers see it")
        return record
    }

    private func fetch(_ target: Target) -> Bytes {
        let record = record(target)
        let id = WireRecordID(
            name: Bytes(record.recordID.recordName.utf8),
            zone: wireZone(of: target)
        )
        return FetchRecordsRequest(database: database(of: target), ids: [id]).encoded()
    }

    /// A save that compares no tags.
    func save(_ target: Target) -> Bytes {
        RawRequest.save(
            encoded: [record(target).encodedSave(allKeys: true)],
            in: database(of: target),
            policy: 1
        )
    }

    private func list(_ target: Target) -> Bytes {
        ListRecordsRequest(database: database(of: target), zone: wireZone(of: target)).encoded()
    }

    private func query(_ target: Target) -> Bytes {
        let query = Query(recordType: target == .note ? "Post" : "Report")
        return QueryRecordsRequest(
            query,
            database: database(of: target),
            zone: wireZone(of: target)
        ).encoded()
    }

    private func changes(_ target: Target) -> Bytes {
        FetchZoneChangesRequest(
            database: database(of: target),
            zone: wireZone(of: target),
            token: [],
            limit: 0
        ).encoded()
    }

    private static func database(_ database: DatabaseScope) -> Bytes {
        FetchDatabaseChangesRequest(database: database, token: [], limit: 0).encoded()
    }

    /// A second, equal subscription would be refused.
    static func subscribing(_ id: String, to type: String) -> Bytes {
        let kind = Subscription.Kind.database(recordType: type)
        return ModifySubscriptionsRequest(
            database: .private,
            saves: [WireSubscription(Subscription(id: id, kind: kind))],
            deletes: []
        ).encoded()
    }
}
