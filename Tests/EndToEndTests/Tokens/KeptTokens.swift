// One token of each kind that callers keep, and what a node makes of each.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

struct KeptTokens {
    static let password = "correct horse"
    static let zone = RecordZone.ID(zoneName: "Trips")
    static let schema = """
        DEFINE SCHEMA RECORD TYPE Note (
            "___recordID" REFERENCE QUERYABLE, title STRING, photo ASSET,
            GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
        );
        """

    /// What became of each token: "goes on", or what it was answered with.
    struct Outcomes: Equatable {
        var feed: String
        var changes: String
        var databaseChanges: String
        var cursor: String
        var causal: String
        var courier: String
        var receipt: String
        var session: String
        var share: String

        init(goingOn: Bool) {
            let all = goingOn ? KeptTokens.goesOn : ""
            (feed, changes, databaseChanges) = (all, all, all)
            (cursor, causal, courier) = (all, all, all)
            (receipt, session, share) = (all, all, all)
        }
    }

    private static let goesOn = "goes on"

    let session: String
    let feed: Cumulus.FeedToken
    let changes: ServerChangeToken
    let databaseChanges: ServerChangeToken
    let cursor: QueryCursor
    let causal: Session
    let courier: String
    let receipt: String
    let share: URL
    let web: WebCaller

    // MARK: Making

    /// - Parameter name: Names the records, so that each call saves something.
    static func make(
        _ name: String,
        at node: NodeProcess,
        _ web: WebCaller
    ) async throws -> KeptTokens {
        let session = try await signIn(at: node)
        let container = try await node.signIn(token: session)
        let database = container.privateCloudDatabase
        try await save("\(name) 1", "\(name) 2", in: database)
        let shared = RecordZone.ID(zoneName: "Shared \(name)")
        try await database.save(RecordZone(zoneID: shared))
        var share = Share(recordZoneID: shared)
        share.publicPermission = .readOnly
        let url = try await database.save(share).url
        var feed = container.notifications(since: nil).makeAsyncIterator()
        let page = try await feed.next()
        let changes = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
        let query = Query(recordType: "Note", predicate: .all)
        let found = try await database.records(matching: query, resultsLimit: 1)
        let kept = KeptTokens(
            session: session,
            feed: try #require(page?.token),
            changes: changes.changeToken,
            databaseChanges: try await database.databaseChanges(since: nil).changeToken,
            cursor: try #require(found.queryCursor),
            causal: container.session,
            courier: try web.courierURL(),
            receipt: try web.receipt(of: name),
            share: try #require(url),
            web: web
        )
        await container.close()
        return kept
    }

    /// A new session of Ada's.
    private static func signIn(at node: NodeProcess) async throws -> String {
        let configuration = Container.Configuration(endpoints: [try node.endpoint])
        let container = Container(identifier: NodeProcess.container, configuration: configuration)
        let session = try await container.signIn(name: "ada", password: password)
        await container.close()
        return session.token
    }

    private static func save(_ names: String..., in database: Database) async throws {
        for name in names {
            let id = Record.ID(recordName: name, zoneID: zone)
            try await database.save(Record(recordType: "Note", recordID: id))
        }
    }

    // MARK: Trying

    /// What a node makes of each, for Ada with a session of that node.
    func outcomes(at node: NodeProcess) async throws -> Outcomes {
        let session = try await KeptTokens.signIn(at: node)
        func container(_ token: String, _ causal: Session? = nil) throws -> Container {
            var configuration = Container.Configuration(endpoints: [try node.endpoint])
            configuration.accessToken = token
            configuration.timeout = .seconds(10)
            configuration.session = causal
            return Container(identifier: NodeProcess.container, configuration: configuration)
        }
        let user = try container(session)
        let database = user.privateCloudDatabase
        // Each token has something to tell.
        try await KeptTokens.save("late \(UUID().uuidString)", in: database)
        var outcomes = Outcomes(goingOn: true)
        outcomes.feed = await answer {
            var pages = user.notifications(since: feed).makeAsyncIterator()
            return try await pages.next()?.reset == nil ? KeptTokens.goesOn : "reset"
        }
        outcomes.changes = await outcome {
            _ = try await database.recordZoneChanges(
                inZoneWith: KeptTokens.zone,
                since: changes
            )
        }
        outcomes.databaseChanges = await outcome {
            _ = try await database.databaseChanges(since: databaseChanges)
        }
        outcomes.cursor = await outcome {
            _ = try await database.records(continuingMatchFrom: cursor)
        }
        outcomes.share = await outcome { _ = try await user.shareMetadata(for: share) }
        await user.close()
        let seer = try container(session, causal)
        outcomes.causal = await outcome {
            _ = try await seer.privateCloudDatabase.allRecordZones()
        }
        await seer.close()
        let former = try container(self.session)
        outcomes.session = await outcome {
            _ = try await former.privateCloudDatabase.allRecordZones()
        }
        await former.close()
        let web = try await WebCaller.signIn(at: node)
        outcomes.courier = try web.poll(courier) ?? KeptTokens.goesOn
        outcomes.receipt = try web.save(receipt) ?? KeptTokens.goesOn
        return outcomes
    }

    private func outcome(_ call: () async throws -> Void) async -> String {
        await answer {
            try await call()
            return KeptTokens.goesOn
        }
    }

    private func answer(_ call: () async throws -> String) async -> String {
        do {
            return try await call()
        } catch {
            return (error as? ServiceError).map { "\($0.code)" } ?? "\(error)"
        }
    }
}
