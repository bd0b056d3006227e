// A device that follows records at one node after the other and may not read all of them: public
// ones, and records in its user's private database beside another user's.
//
// Driven by `RoamingFeeds`. Users write public diaries, and private ones of the same type. An
// operator opens the public ones to everybody, or closes them again, so that each user may read
// only its own. A node may tell the device of a public entry only if the grants that it has allow
// the user to read it, and of a private entry only if it is the user's. A difference is a fault,
// which the checkers report.

import CumulusModel
import CumulusOperations
import CumulusStorage

package struct RoamingReader {
    static let users = ["_carol", "_dave"]
    private static let recordType = "Diary"

    private let caller: Caller
    private let broken: BrokenRules
    private var dice: SeededGenerator
    private var token: FeedToken?
    private var hasSubscribed = false

    /// Broken promises, in words.
    private(set) var faults: [String] = []
    /// How often each kind of event happened.
    private(set) var counts: [String: Int] = [:]

    /// - Parameter seed: Seeds dice of its own.
    init(_ user: String, seed: UInt64, breaking broken: BrokenRules) {
        caller = Caller(role: .user(user), device: [9])
        self.broken = broken
        dice = SeededGenerator(seed: seed &+ 0xD1A)
    }

    /// Writes something at a node, and fetches a page there.
    ///
    /// - Parameter isSettling: Whether nothing more is written.
    mutating func step(on store: TestStore, isSettling: Bool) throws {
        if !isSettling { try write(at: store) }
        guard hasSubscribed else { return }
        var fetch = FetchFeed(
            since: token,
            run: store.state.incarnation,
            environment: store.scope.environment
        )
        fetch.broken = broken
        do {
            let number = try store.scopeNumber()
            let page = try fetch.run(store.scope, number, by: caller, in: store.reader)
            token = page.token
            for news in page.news { try check(news, at: store) }
        } catch ReadFailure.service(let error) {
            switch error.code {
            case .serviceUnavailable where error.reason == .nodeBehind: break
            case .changeTokenExpired: token = nil
            default: faults.append("a feed failed: \(error)")
            }
        }
    }

    // MARK: Writing

    private mutating func write(at store: TestStore) throws {
        if !hasSubscribed {
            hasSubscribed = true
            try setGrants(isOpen: false, at: store)
            for database in [.public, DatabaseID(kind: .private, owner: caller.user)] {
                try subscribe(database, at: store)
            }
        } else if Int.random(in: 0..<40, using: &dice) == 0 {
            // Feeds begin anew after that: more often, and they would hardly tell anything.
            try setGrants(isOpen: Bool.random(using: &dice), at: store)
        }
        let user = RoamingReader.users[Int.random(in: 0..<2, using: &dice)]
        let database: DatabaseScope = Bool.random(using: &dice) ? .public : .private
        let name = "diary\(Int.random(in: 0..<4, using: &dice))\(user)"
        let (author, mood) = (Caller(role: .user(user)), Int64.random(in: 0...9, using: &dice))
        if mood == 0 {
            try store.delete([DeleteItem(name)], in: database, by: author)
        } else {
            let item = SaveItem(name, ["mood": .int64(mood)], type: RoamingReader.recordType)
            try store.save([item], in: database, by: author)
        }
    }

    private func setGrants(isOpen: Bool, at store: TestStore) throws {
        let others = isOpen ? #"GRANT READ TO "_world", "# : ""
        try store.importType(
            RoamingReader.recordType,
            #"mood INT64, \#(others)GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#
        )
    }

    private func subscribe(_ database: DatabaseID, at store: TestStore) throws {
        let kind = Subscription.Kind.query(recordType: RoamingReader.recordType, predicate: .all)
        let stored = StoredSubscription(
            user: caller.user,
            database: database,
            Subscription(id: "diaries", kind: kind)
        )
        let register = Commit.Register(
            namespace: StoredSubscription.namespace,
            key: stored.key,
            value: stored.value
        )
        let (scope, author) = (try store.scopeNumber(), Author(user: caller.user))
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.perform([.register(register)], in: scope, zone: nil, author: author)
        }
    }

    // MARK: Checking

    /// Checks that the user may read what it was told of; a record's name ends with its creator's.
    private mutating func check(_ news: FeedNews, at store: TestStore) throws {
        guard case .record(_, let name, _, _) = news.change else { return }
        let creator = RoamingReader.users.first { name.hasSuffix($0) }
        guard news.database.kind == .public else {
            counts["feeds: private records", default: 0] += 1
            if creator == caller.user { return }
            return faults.append("\(caller.user) was told of '\(name)' of another user")
        }
        counts["feeds: public records", default: 0] += 1
        let schema = try store.reader.typeSchema(store.scopeNumber(), RoamingReader.recordType)
        if creator != caller.user { counts["feeds: records of others", default: 0] += 1 }
        if schema.grants.allow(.read, to: caller.user, with: [], of: creator) { return }
        faults.append("\(caller.user) was told of '\(name)', which it may not read")
    }
}
