// In place of a push service: turns the feed of a container into the dictionaries that a push
// service would deliver to the app.
//
// Made by apps where they would register for remote notifications on Apple's systems.

internal import Cumulus
internal import CumulusModel
internal import Foundation
internal import Synchronization

/// Receives the notifications of all subscriptions of the user, as they happen.
///
/// ```swift
/// let receiver = CKNotificationReceiver(container: .default(), since: savedToken)
/// try await receiver.run { userInfo in
///     let note = CKNotification(fromRemoteNotificationDictionary: userInfo)
///     if let note { app.handle(note) }
/// }
/// ```
///
/// Changes by this device are left out. A query notification without a record, and a
/// notification that is pruned and has no id, mean that the server can't tell what changed: ask
/// anew. A receiver without a token begins with what happens from now on. Beyond CloudKit.
public final class CKNotificationReceiver: Sendable {
    private let container: CKContainer
    private let progress: Mutex<CKServerChangeToken?>

    /// A receiver that begins after a token; nil means from now on.
    public init(container: CKContainer = .default(), since token: CKServerChangeToken? = nil) {
        self.container = container
        progress = Mutex(token)
    }

    /// How far the notifications were told: archive it once they are handled.
    public var token: CKServerChangeToken? { progress.withLock { $0 } }

    /// Calls the handler with each notification, one after the other.
    ///
    /// It goes on until its task is cancelled. A lost connection or node is no error: it goes
    /// on at another node.
    ///
    /// - Throws: `notAuthenticated` if no user is signed in; `changeTokenExpired` if the token
    ///   can't be used any more: begin without one, and fetch everything.
    @preconcurrency
    public func run(
        _ handler: @escaping @concurrent @Sendable ([AnyHashable: Any]) async -> Void
    ) async throws {
        do {
            let client = try container.client.container()
            let user = try await client.userRecordID().recordName
            let subscriptions = SubscribedZones(client)
            let since = try token?.notifications()
            for try await page in client.notifications(since: since) {
                var payloads: [NotificationPayload] = []
                for notification in page.notifications {
                    let zone = await subscriptions.zone(of: notification)
                    var payload = NotificationPayload(notification, subscribedZone: zone)
                    payload.badge = payload.info.shouldBadge ? container.client.addBadge() : nil
                    payloads.append(payload)
                }
                if let reset = page.reset {
                    payloads += try await subscriptions.told(of: reset)
                }
                for var payload in payloads {
                    payload.container = container.containerIdentifier
                    payload.user = user
                    await handler(payload.dictionary)
                }
                progress.withLock { $0 = CKServerChangeToken(page.token) }
            }
        } catch {
            throw CKError(any: error)
        }
    }
}

/// Looks up which subscriptions are to zones, for the notifications that don't say so.
struct SubscribedZones: Sendable {
    private let container: Container
    private let known = Known()

    private final class Known: Sendable {
        let zones = Mutex<[SubscriptionName: RecordZone.ID?]>([:])
    }

    init(_ container: Container) {
        self.container = container
    }

    /// The zone of a notification's subscription; nil if it is to a database, or is gone.
    func zone(of notification: FeedNotification) async -> RecordZone.ID? {
        guard case .zones = notification.news else { return nil }
        let name = SubscriptionName(
            databaseScope: notification.databaseScope,
            subscriptionID: notification.subscriptionID
        )
        if let zone = known.zones.withLock({ $0[name] }) { return zone }
        let database = container.database(with: name.databaseScope)
        guard let found = try? await database.subscription(for: name.subscriptionID) else {
            return nil
        }
        var zone: RecordZone.ID?
        if case .zone(let id, _) = found.kind { zone = id }
        known.zones.withLock { [zone] in $0[name] = .some(zone) }
        return zone
    }

    /// The notifications for changes that a feed can't tell.
    func told(of reset: FeedReset) async throws -> [NotificationPayload] {
        var payloads: [NotificationPayload] = []
        for scope in DatabaseScope.allCases {
            let all: [Subscription]
            do {
                all = try await container.database(with: scope).allSubscriptions()
            } catch let error as ServiceError where error.code == .badDatabase {
                continue
            }
            for subscription in all where reset.concerns(subscription.id, in: scope) {
                payloads.append(NotificationPayload(resetOf: subscription, in: scope))
            }
        }
        return payloads
    }
}

extension FeedReset {
    fileprivate func concerns(_ id: Subscription.ID, in scope: DatabaseScope) -> Bool {
        switch self {
        case .all: true
        case .subscriptions(let names):
            names.contains(SubscriptionName(databaseScope: scope, subscriptionID: id))
        }
    }
}
