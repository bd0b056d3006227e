// subscriptions/list, subscriptions/lookup and subscriptions/modify.

import CumulusModel
import CumulusWire

extension WebContext {
    func listSubscriptions() async throws -> [JSON.Member] {
        let results = try await fetchSubscriptions(nil)
        let entries = try await subscriptionEntries(results.compactMap { try? $0.get() })
        return [JSON.Member("subscriptions", .array(entries))]
    }

    func lookUpSubscriptions() async throws -> [JSON.Member] {
        var ids: [String] = []
        for item in try request.items("subscriptions") {
            ids.append(try item.needed("subscriptionID"))
        }
        let results = try await fetchSubscriptions(ids)
        guard results.count == ids.count else { throw WebContext.resultMissing }
        var entries: [JSON] = []
        for (id, result) in zip(ids, results) {
            switch result {
            case .success(let found): entries += try await subscriptionEntries([found])
            case .failure(let error):
                entries.append(WebSubscription.entry(WebError(error), id, uuid: uuid))
            }
        }
        return [JSON.Member("subscriptions", .array(entries))]
    }

    private func fetchSubscriptions(_ ids: [String]?) async throws -> [SubscriptionResult] {
        if ids?.isEmpty == true { return [] }
        let call = FetchSubscriptionsRequest(
            database: database,
            ids: ids?.map { Bytes($0.utf8) }
        )
        let messages = try await calls.read(.subscriptionsFetch, call.encoded())
        return try messages.flatMap { try FetchSubscriptionsResponse(wire: $0).results }
    }

    private func subscriptionEntries(_ subscriptions: [Subscription]) async throws -> [JSON] {
        let types = subscriptions.compactMap { subscription -> String? in
            if case .query(let type, _, _) = subscription.kind { type } else { nil }
        }
        let columns = try await calls.columns(of: Array(Set(types)).sorted())
        return subscriptions.map { subscription in
            var fields: [String: FieldType] = [:]
            if case .query(let type, _, _) = subscription.kind { fields = columns[type] ?? [:] }
            return WebSubscription(columns: fields, user: user).json(subscription)
        }
    }

    // MARK: Modify

    func modifySubscriptions() async throws -> [JSON.Member] {
        var entries: [JSON] = []
        // Each on its own: they are not atomic, and the order counts.
        for item in try request.items("operations") {
            let kind = try item.needed("operationType")
            guard let object = try item.object("subscription") else {
                throw WebError.badRequest("'\(item.place("subscription"))' is missing")
            }
            guard ["create", "update", "delete"].contains(kind) else {
                throw WebError.badRequest(
                    "'\(item.place("operationType"))' must be create, update or delete, not "
                        + "'\(kind)'"
                )
            }
            do {
                entries.append(
                    kind == "delete"
                        ? try await deleteSubscription(object) : try await save(object)
                )
            } catch let error as ServiceError {
                entries.append(try subscriptionEntry(WebError(error), object))
            } catch let error as WebError {
                entries.append(try subscriptionEntry(error, object))
            }
        }
        return [JSON.Member("subscriptions", .array(entries))]
    }

    private func subscriptionEntry(_ error: WebError, _ object: WebObject) throws -> JSON {
        let id = try object.string("subscriptionID") ?? ""
        return WebSubscription.entry(error, id, uuid: uuid)
    }

    private func save(_ object: WebObject) async throws -> JSON {
        let type = try WebSubscription.recordType(object)
        let columns = try await calls.columns(of: type.map { [$0] } ?? [])
        let web = WebSubscription(columns: type.flatMap { columns[$0] } ?? [:], user: user)
        let subscription = try web.subscription(object) {
            WebText.uuid(door.random(), door.random())
        }
        try await change(saves: [WireSubscription(subscription)], deletes: [])
        return web.json(subscription)
    }

    private func deleteSubscription(_ object: WebObject) async throws -> JSON {
        let id = try object.needed("subscriptionID")
        try await change(saves: [], deletes: [Bytes(id.utf8)])
        return ["subscriptionID": .string(id), "deleted": .bool(true)]
    }

    private func change(saves: [WireSubscription], deletes: [Bytes]) async throws {
        let message = ModifySubscriptionsRequest(
            database: database,
            saves: saves,
            deletes: deletes
        )
        let messages = try await calls.change(.subscriptionsModify, message.encoded())
        guard let first = messages.first else { throw WebContext.resultMissing }
        let answer = try ModifySubscriptionsResponse(wire: first)
        for error in answer.saves + answer.deletes {
            if let error { throw error }
        }
    }
}
