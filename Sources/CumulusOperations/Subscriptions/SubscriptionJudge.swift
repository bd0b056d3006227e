// Decides whether a subscription may be saved, by its place, its zone, its predicate and its keys.
//
// Called by `ModifySubscriptions` for each save; returns the subscription as it is stored. It only
// reads, so a retry on another node can call it again.

import CumulusModel
import CumulusStorage

struct SubscriptionJudge {
    let scope: ScopeNumber
    let environment: Environment
    let caller: Caller
    let database: DatabaseID
    let limits: Limits

    /// The most fields that a notification may carry, as in CloudKit.
    private static let mostKeys = 3

    /// The subscription as it is stored, or why it may not be saved.
    func judge<Reader: RowReader & ~Copyable>(
        _ save: Result<Subscription, ServiceError>,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Result<Subscription, ServiceError> {
        guard case .success(let subscription) = save else { return save }
        do {
            return .success(try judge(subscription, reader))
        } catch {
            switch ReadFailure(error) {
            case .service(let error): return .failure(error)
            case .engine(let error): throw error
            }
        }
    }

    private func judge<Reader: RowReader & ~Copyable>(
        _ subscription: Subscription,
        _ reader: borrowing Reader
    ) throws -> Subscription {
        try checkPlace(of: subscription.kind)
        if subscription.notificationInfo?.webhook != nil,
            let refusal = try Feature.webhook.refusal(in: reader)
        {
            throw refusal
        }
        var subscription = subscription
        switch subscription.kind {
        case .query(let type, let predicate, let zone):
            try check(subscription.options)
            var named: RecordZone.ID?
            if let zone { named = try find(zone, reader) }
            // The public database has one zone, so naming it makes no difference.
            if database.kind == .public { named = nil }
            let schema = try reader.typeSchema(scope, type)
            let canonical = try bind(subscription, type, predicate, schema)
            try check(subscription.notificationInfo?.desiredKeys ?? [], of: type, schema)
            subscription.kind = .query(recordType: type, predicate: canonical, zone: named)
        case .zone(let zone, let type):
            guard zone.zoneName != Names.defaultZone else {
                throw invalid(
                    """
                    a zone subscription watches a custom zone; use a query subscription for the \
                    default zone
                    """
                )
            }
            subscription.kind = .zone(try find(zone, reader), recordType: type)
            try checkNoKeys(of: &subscription)
        case .database: try checkNoKeys(of: &subscription)
        }
        return subscription
    }

    // MARK: Place

    private func checkPlace(of kind: Subscription.Kind) throws(ServiceError) {
        switch (kind, database.kind) {
        case (.query, .public), (_, .private), (.database(recordType: nil), .shared): return
        case (_, .public):
            throw ServiceError(
                .badDatabase,
                """
                the public database has no custom zones to be told of; use a query subscription, \
                or the private database
                """
            )
        case (_, .shared):
            throw ServiceError(
                .badDatabase,
                """
                in the shared database a subscription watches all zones and all types; leave out \
                zone, query and type
                """
            )
        }
    }

    /// The zone as it is stored.
    private func find<Reader: RowReader & ~Copyable>(
        _ zone: RecordZone.ID,
        _ reader: borrowing Reader
    ) throws -> RecordZone.ID {
        let address = ZoneAddress(name: zone.zoneName, owner: zone.ownerName)
        guard try reader.locate(address, in: database, of: scope, by: caller) != nil else {
            throw ServiceError.zoneNotFound(address, in: database.kind)
        }
        let isOwn = caller.isOwner(named: zone.ownerName)
        return isOwn ? RecordZone.ID(zoneName: zone.zoneName) : zone
    }

    // MARK: Query subscriptions

    private func check(_ options: Subscription.Options) throws(ServiceError) {
        let known: Subscription.Options = [.standard, .firesOnce]
        guard options.isSubset(of: known) else {
            throw invalid("the options of a query subscription hold bits that are unknown here")
        }
        guard !options.isDisjoint(with: .standard) else {
            throw invalid(
                """
                a query subscription fires on nothing; give at least one of \
                firesOnRecordCreation, firesOnRecordUpdate and firesOnRecordDeletion
                """
            )
        }
    }

    /// Checks the predicate like a query's, and returns its canonical form.
    private func bind(
        _ subscription: Subscription,
        _ type: String,
        _ predicate: Query.Predicate,
        _ schema: TypeSchema
    ) throws(ServiceError) -> Query.Predicate {
        guard type != UserRecords.type else {
            throw invalid("records of type Users can't be subscribed to: no query finds them")
        }
        var query = Query(recordType: type, predicate: predicate)
        query.allowsExtensions = subscription.allowsExtensions
        // The value of NOW() does not matter: nothing is evaluated here.
        let context = BoundQuery.Context(
            environment: environment,
            user: caller.user,
            now: 0,
            limits: limits
        )
        _ = try BoundQuery(query, schema, context)
        return predicate.canonical(in: schema, for: caller.user)
    }

    private func check(
        _ keys: [String],
        of type: String,
        _ schema: TypeSchema
    ) throws(ServiceError) {
        guard keys.count <= SubscriptionJudge.mostKeys else {
            throw invalid(
                "a notification carries at most \(SubscriptionJudge.mostKeys) desired keys"
            )
        }
        for key in keys {
            guard let column = schema.fields[schema.fieldDrops.stored(key)] else {
                throw invalid("Unknown field '\(key)': type \(type) has none of that name")
            }
            guard case .one(let kind) = column, kind.isCarried else {
                throw ServiceError(
                    .invalidArguments,
                    .wrongType,
                    """
                    a notification can't carry field '\(key)' of type \(column.name); desired \
                    keys are STRING, INT64, DOUBLE, TIMESTAMP, LOCATION or REFERENCE fields
                    """
                )
            }
        }
    }

    // MARK: Zone and database subscriptions

    /// Refuses desired keys, and sets the options that only query subscriptions have to defaults.
    private func checkNoKeys(of subscription: inout Subscription) throws(ServiceError) {
        guard subscription.notificationInfo?.desiredKeys.isEmpty ?? true else {
            throw invalid("only notifications of a query subscription carry desired keys")
        }
        subscription.options = .standard
        subscription.allowsExtensions = false
    }

    private func invalid(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }
}

extension FieldKind {
    /// Whether notifications carry values of this kind.
    fileprivate var isCarried: Bool {
        switch self {
        case .string, .int64, .double, .timestamp, .location, .reference: true
        case .bytes, .asset: false
        }
    }
}
