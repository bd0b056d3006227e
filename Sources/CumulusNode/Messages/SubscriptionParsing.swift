// Subscriptions between the wire and the operations: names checked, the caller's own zones
// recognised.
//
// Called by `SubscriptionCalls`. Whether a subscription may stand is for the operation to say.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusWire

extension RequestParser {
    func modifySubscriptions(_ message: Bytes) throws -> ModifySubscriptions {
        let request = try ModifySubscriptionsRequest(wire: message)
        let count = request.saves.count + request.deletes.count
        guard count <= limits.itemsPerRequest else {
            throw ServiceError.tooManyItems(count, limit: limits.itemsPerRequest)
        }
        return ModifySubscriptions(
            database: try database(request.database),
            saves: request.saves.map { save in
                Result { () throws(ServiceError) in try subscription(save) }
            },
            deletes: request.deletes.map(subscriptionID),
            limits: limits
        )
    }

    func fetchSubscriptions(_ message: Bytes) throws -> FetchSubscriptions {
        let request = try FetchSubscriptionsRequest(wire: message)
        let count = request.ids?.count ?? 0
        guard count <= limits.itemsPerRequest else {
            throw ServiceError.tooManyItems(count, limit: limits.itemsPerRequest)
        }
        return FetchSubscriptions(
            database: try database(request.database),
            wanted: request.ids.map { .these($0.map(subscriptionID)) } ?? .all
        )
    }

    private func subscriptionID(_ id: Bytes) -> Result<Subscription.ID, ServiceError> {
        Result { () throws(ServiceError) in try Names.checkASCII(id[...], "subscription id") }
    }

    private func subscription(_ wire: WireSubscription) throws(ServiceError) -> Subscription {
        let id = try subscriptionID(wire.id).get()
        guard let kind = wire.kind else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "subscription '\(id)' names neither a query nor a zone nor a database"
            )
        }
        var subscription = Subscription(id: id, kind: try self.kind(kind))
        if case .query(let query) = kind {
            subscription.options = Subscription.Options(rawValue: query.options)
            subscription.allowsExtensions = query.allowsExtensions
        }
        subscription.notificationInfo = wire.info
        if let webhook = wire.info?.webhook, !knowsWebhook(webhook) {
            let shown = webhook.count > 64 ? webhook.prefix(64) + "…" : webhook[...]
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                no webhook '\(shown)' is registered at this node for this container; use a name \
                that an operator has given in the file of 'cumulusd --webhooks', or leave it out
                """
            )
        }
        for part in Subscription.NotificationInfo.lists {
            for name in wire.info?[keyPath: part.path] ?? [] {
                _ = try Names.checkFieldName(Bytes(name.utf8)[...], "field in \(part.name)")
            }
        }
        return subscription
    }

    private func kind(
        _ wire: WireSubscription.Kind
    ) throws(ServiceError) -> Subscription.Kind {
        switch wire {
        case .query(let query):
            return .query(
                recordType: try Names.checkText(query.recordType[...], "record type"),
                predicate: try predicate(query.predicate),
                zone: try query.zone.map { (id) throws(ServiceError) in try zoneID(id) }
            )
        case .zone(let kind):
            return .zone(try zoneID(kind.zone), recordType: try recordType(kind.recordType))
        case .database(let type): return .database(recordType: try recordType(type.bytes))
        }
    }

    private func recordType(_ type: Bytes) throws(ServiceError) -> String? {
        type.isEmpty ? nil : try Names.checkTypeName(type[...])
    }

    private func zoneID(_ wire: WireZoneID) throws(ServiceError) -> RecordZone.ID {
        let address = try zone(wire)
        if address.owner.isEmpty { return RecordZone.ID(zoneName: address.name) }
        return RecordZone.ID(zoneName: address.name, ownerName: address.owner)
    }
}
