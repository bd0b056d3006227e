// A user with subscriptions, and devices that follow its feed over real sockets and keep what an
// application keeps: which records match, and the token of the last page that was handled.
//
// Used by the tests of feeds under faults. What a device holds is the simulation's `FeedCopy`.

import Cumulus
import CumulusModel
import CumulusTesting
import Synchronization
import Testing

/// A user, and the subscriptions that all of its devices follow.
final class FeedUser: Sendable {
    struct Watch: Sendable {
        let database: DatabaseScope
        let query: Query
    }

    let name: String
    private let token: String
    private let watched = Mutex<[Subscription.ID: Watch]>([:])

    init(_ name: String, token: String) {
        self.name = name
        self.token = token
    }

    /// By the ids of subscriptions.
    var watches: [Subscription.ID: Watch] { watched.withLock { $0 } }

    /// A client that goes on at the next endpoint when it loses one.
    func container(at endpoints: [String], device: String = "writer") -> Container {
        var configuration = Container.Configuration(endpoints: endpoints)
        configuration.tls = .never
        configuration.accessToken = token
        configuration.deviceID = device
        return Container(identifier: NodeProcess.container, configuration: configuration)
    }

    /// Saves a subscription; devices know what it asks for before a node does.
    func subscribe(
        _ id: Subscription.ID,
        to query: Query,
        of database: DatabaseScope = .private,
        by container: Container
    ) async throws {
        watched.withLock { $0[id] = Watch(database: database, query: query) }
        let kind = Subscription.Kind.query(
            recordType: query.recordType,
            predicate: query.predicate
        )
        _ = try await container.database(with: database).save(Subscription(id: id, kind: kind))
    }

    func unsubscribe(_ id: Subscription.ID, by container: Container) async throws {
        guard let watch = watches[id] else { return }
        _ = try await container.database(with: watch.database).deleteSubscription(withID: id)
        watched.withLock { $0[id] = nil }
    }
}

final class FeedDevice: Sendable {
    fileprivate struct State {
        var token: FeedToken?
        var copy: FeedCopy<FeedNotification.ID>
        /// Told since the device was up to date: another node begins there again.
        var sinceCheckpoint: Set<FeedNotification.ID> = []
    }

    let user: FeedUser
    private let name: String
    private let state: Mutex<State>

    init(_ name: String, of user: FeedUser) {
        self.user = user
        self.name = name
        state = Mutex(State(copy: FeedCopy(of: name)))
    }

    var faults: [String] { state.withLock { $0.copy.faults } }
    func count(_ what: String) -> Int { state.withLock { $0.copy.counts[what] ?? 0 } }

    /// What the device holds of a subscription, as zone and name.
    func held(of id: Subscription.ID) -> Set<String> { state.withLock { $0.copy.held[id] ?? [] } }

    // MARK: Follow

    /// Follows at the first endpoint, and at the others when it is lost, until the task is
    /// cancelled.
    func follow(at endpoints: [String]) async throws {
        let container = user.container(at: endpoints, device: name)
        do {
            try await read(container) { _ in false }
        } catch let error as ServiceError where error.code == .operationCancelled {}
        await container.close()
    }

    /// Reads a page, wherever the device was before.
    func step(at endpoints: [String]) async throws {
        let container = user.container(at: endpoints, device: name)
        do {
            try await read(container) { _ in true }
        } catch let error as ServiceError where error.code == .operationCancelled {}
        await container.close()
    }

    /// Reads until the device is up to date at a node, and compares what it holds with what queries
    /// find there.
    ///
    /// Nothing is written meanwhile.
    func compare(at endpoint: String) async throws {
        let container = user.container(at: [endpoint], device: name)
        try await read(container) { $0.isUpToDate }
        for (id, watch) in user.watches {
            let wanted = try await FeedDevice.ask(watch, container)
            state.withLock { $0.copy.compare(wanted, of: id) }
        }
        state.withLock { state in
            state.copy.settle()
            // Records of an ended subscription are dropped.
            for id in state.copy.held.keys where user.watches[id] == nil { state.copy.forget(id) }
        }
        await container.close()
    }

    private func read(_ container: Container, until isEnd: (FeedPage) -> Bool) async throws {
        for try await page in container.notifications(since: state.withLock { $0.token }) {
            try await take(page, container)
            if isEnd(page) { return }
        }
    }

    // MARK: Pages

    /// Takes all of a page and its token, or none of it.
    private func take(_ page: FeedPage, _ container: Container) async throws {
        let isNew = state.withLock { $0.token == nil }
        let watches = user.watches
        let anew =
            switch page.reset {
            case .all?: Array(watches.keys)
            case .subscriptions(let names)?: names.map(\.subscriptionID)
            case nil: isNew ? Array(watches.keys) : []
            }
        var answers: [Subscription.ID: Set<String>] = [:]
        for id in anew {
            if let watch = watches[id] { answers[id] = try await FeedDevice.ask(watch, container) }
        }
        state.withLock { state in
            state.copy.counts["feeds: pages", default: 0] += 1
            if page.reset != nil { state.copy.counts["feeds: resets", default: 0] += 1 }
            if !page.isUpToDate { state.copy.counts["feeds: cut pages", default: 0] += 1 }
            for notification in page.notifications {
                if watches[notification.subscriptionID] != nil { state.note(notification) }
            }
            for (id, answer) in answers { state.copy.hold(answer, of: id, isAhead: true) }
            if page.isUpToDate { state.sinceCheckpoint = [] }
            state.token = page.token
        }
    }

    private static func ask(
        _ watch: FeedUser.Watch,
        _ container: Container
    ) async throws -> Set<String> {
        var found: Set<String> = []
        let records = container.database(with: watch.database)
            .allRecords(matching: watch.query, desiredKeys: [])
        for try await record in records { found.insert(place(of: record.recordID)) }
        return found
    }

    fileprivate static func place(of id: Record.ID) -> String {
        "\(id.zoneID.zoneName)/\(id.recordName)"
    }
}

extension FeedDevice.State {
    fileprivate mutating func note(_ notification: FeedNotification) {
        let id = notification.subscriptionID
        switch notification.news {
        case .record(let news):
            let place = FeedDevice.place(of: news.recordID)
            // A repeated notification has the same id, see `Container.notifications`.
            if sinceCheckpoint.insert(notification.id).inserted {
                copy.note(news.transition, of: place, id, notification.id)
            } else {
                copy.apply(news.transition, of: place, id)
            }
        case .zoneDeleted(let zone): copy.note(deletedZone: zone.zoneName, id)
        case .zones: break
        }
    }
}
