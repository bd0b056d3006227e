// How a migration takes over what a user wants to be told of.
//
// A subscription is saved when it is new or another one at the source, and deleted when it is gone
// there: the state has its digest. So what was ended here stays ended, and what fires once fires
// once.

import Crypto
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

extension Migration {
    private static let databases: [DatabaseScope] = [.public, .private, .shared]

    func copySubscriptions() async throws {
        guard let user = state.users[caller]?.name else { return }
        let container = try await container(of: user)
        for scope in Migration.databases {
            let database = container.database(with: scope)
            let prefix = MigrationState.key(caller, scope) + "/"
            var seen: Set<String> = []
            var isWhole = true
            for (index, json) in try await subscriptions(of: scope).enumerated() {
                let place = "subscriptions[\(index)] of the \(scope.name) database"
                guard case .string(let id)? = json["subscriptionID"] else {
                    fail("it has no id", place)
                    isWhole = false
                    continue
                }
                seen.insert(prefix + id)
                let digest = Bytes(SHA256.hash(data: Bytes(json.text.utf8))).hex
                if state.subscriptions[prefix + id] == digest { continue }
                guard try await save(json, in: database, place) else { continue }
                state.subscriptions[prefix + id] = digest
                try keep()
            }
            let known = state.subscriptions.keys.filter { $0.hasPrefix(prefix) }
            for key in known.sorted() where isWhole && !seen.contains(key) {
                try await end(String(key.dropFirst(prefix.count)), in: database)
                state.subscriptions[key] = nil
                try keep()
            }
        }
    }

    private func subscriptions(of database: DatabaseScope) async throws -> [JSON] {
        try await source.ask(.subscriptions(of: database)) {
            try SourceObject($0, at: "").neededList("subscriptions")
        }
    }

    private func subscription(_ json: JSON) throws -> Subscription {
        try Subscription(source: json, at: "", for: caller) { state.mapped($0) }
    }

    /// Whether it is here now.
    private func save(_ json: JSON, in database: Database, _ place: String) async throws -> Bool {
        do {
            let subscription = try subscription(json)
            _ = try await target.persisting { try await database.save(subscription) }
            report.subscriptions += 1
            return true
        } catch let problem as SourceProblem {
            fail(problem.description, place)
        } catch let error as ServiceError where !error.passes {
            fail("\(error)", place)
        }
        return false
    }

    private func end(_ id: Subscription.ID, in database: Database) async throws {
        do {
            _ = try await target.persisting { try await database.deleteSubscription(withID: id) }
        } catch let error as ServiceError where error.code == .unknownItem {
            return
        }
    }

    // MARK: Comparing

    func compareSubscriptions() async throws {
        guard let user = state.users[caller] else { return }
        let container = try await container(of: user.name)
        for scope in Migration.databases {
            func differ(_ id: String, _ what: String) {
                self.differ("subscription '\(id)' of the \(scope.name) database", what)
            }
            let database = container.database(with: scope)
            let found = try await target.persisting { try await database.allSubscriptions() }
            var rest = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
            for json in try await subscriptions(of: scope) {
                var name = ""
                if case .string(let id)? = json["subscriptionID"] { name = id }
                do {
                    let wanted = try subscription(json)
                    guard let other = rest.removeValue(forKey: wanted.id) else {
                        differ(name, "is missing here")
                        continue
                    }
                    let isSame = SubscriptionComparison.isSame(
                        wanted,
                        other,
                        of: user.recordName,
                        in: scope
                    )
                    if !isSame { differ(name, "differs") }
                } catch let problem as SourceProblem {
                    rest[name] = nil
                    differ(name, "can't be read at the source: \(problem.description)")
                }
            }
            for id in rest.keys.sorted() { differ(id, "is not at the source") }
        }
    }
}
